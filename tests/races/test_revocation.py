"""A revocation against whoever brings work to life under its endpoint, in both orders."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.factories import (
    OWNER,
    assert_invariants,
    endings,
    make_claimed,
    make_dead_letter,
    make_endpoint,
    make_parked,
    make_pending,
    make_waiting,
)
from tests.races.conftest import Paused
from tests.races.sessions import PATIENCE, Session, wait_until_blocked
from todos import endpoints, reaper, sql, transitions
from todos.errors import EndpointInactive, TodoConflict
from todos.models import Endpoint, Todo

DEAD = "failed, dead letter"
MINUTE = timedelta(minutes=1)


def _create(endpoint: Endpoint) -> Any:
    return transitions.create(endpoint, queue="inbox", title="the last")


def _retry_of_a_dead_letter(endpoint: Endpoint) -> Callable[[Endpoint], Any]:
    dead = make_dead_letter(endpoint=endpoint)
    return lambda endpoint: transitions.retry(endpoint, dead.pk)


def _claim_of_a_pending(endpoint: Endpoint) -> Callable[[Endpoint], Any]:
    todo = make_pending(endpoint=endpoint)
    return lambda endpoint: transitions.claim(endpoint, todo.pk, owner=OWNER)


def _claim_next(endpoint: Endpoint) -> Callable[[Endpoint], Any]:
    make_pending(endpoint=endpoint)
    return lambda endpoint: transitions.claim_next(endpoint, ["inbox"], owner=OWNER)


BRING_TO_LIFE: dict[str, Callable[[Endpoint], Callable[[Endpoint], Any]]] = {
    "create": lambda _: _create,
    "retry": _retry_of_a_dead_letter,
    "claim": _claim_of_a_pending,
    "claim_next": _claim_next,
}


def _mark(endpoint: Endpoint) -> None:
    assert sql.execute("endpoint_revoke", {"endpoint": endpoint.pk}) == 1


def _conditions(endpoint: Endpoint) -> set[str]:
    return {todo.condition for todo in Todo.objects.filter(endpoint=endpoint)}


def _assert_over(endpoint: Endpoint) -> None:
    endpoint.refresh_from_db()
    assert endpoint.revocation_finished_at
    assert _conditions(endpoint) <= {DEAD}
    assert_invariants()


@pytest.mark.parametrize("name", BRING_TO_LIFE)
def test_a_revocation_waits_for_what_began_before_it_and_ends_it(
    name: str, one: Session, other: Session
) -> None:
    endpoint = make_endpoint()
    act = BRING_TO_LIFE[name](endpoint)
    one.begin()
    one.do(act, endpoint)
    revoking = other.start(endpoints.revoke, endpoint)
    wait_until_blocked(other, by=one, doing=revoking)
    one.commit()
    revoking.result(timeout=PATIENCE)
    assert Todo.objects.filter(endpoint=endpoint).count() == 1
    _assert_over(endpoint)


@pytest.mark.parametrize("name", ["create", "retry"])
def test_what_waits_for_the_mark_of_a_revocation_is_refused(
    name: str, one: Session, other: Session
) -> None:
    endpoint = make_endpoint()
    act = BRING_TO_LIFE[name](endpoint)
    before = list(Todo.objects.values_list("pk", "state"))
    one.begin()
    one.do(_mark, endpoint)
    acting = other.start(act, endpoint)
    wait_until_blocked(other, by=one, doing=acting)
    one.commit()
    with pytest.raises(EndpointInactive):
        acting.result(timeout=PATIENCE)
    assert list(Todo.objects.values_list("pk", "state")) == before


@pytest.mark.parametrize("name", ["create", "retry"])
def test_a_mark_that_is_undone_refuses_nothing(name: str, one: Session, other: Session) -> None:
    endpoint = make_endpoint()
    act = BRING_TO_LIFE[name](endpoint)
    one.begin()
    one.do(_mark, endpoint)
    acting = other.start(act, endpoint)
    wait_until_blocked(other, by=one, doing=acting)
    one.rollback()
    acting.result(timeout=PATIENCE)
    assert _conditions(endpoint) == {"pending"}


@pytest.mark.parametrize("name", BRING_TO_LIFE)
def test_what_saw_the_endpoint_active_does_nothing_once_it_is_revoked(
    name: str, one: Session, paused: Paused
) -> None:
    endpoint = make_endpoint()
    act = BRING_TO_LIFE[name](endpoint)
    with paused(name).of(one, act, endpoint) as acting:
        endpoints.revoke(endpoint)
    with pytest.raises(TodoConflict):
        acting.result(timeout=PATIENCE)
    _assert_over(endpoint)


SWEEPS: dict[str, tuple[str, Callable[..., Todo], Callable[[], int]]] = {
    "a lapsed lease": (
        "reap_leases",
        lambda: make_claimed(lapsed_for=MINUTE),
        reaper.reap_expired,
    ),
    "a lapsed wait": (
        "reclaim_waits",
        lambda: make_waiting(age=timedelta(days=2)),
        reaper.reap_interrupted,
    ),
    "a due retry": (
        "requeue_due",
        lambda: make_parked(due_in=-MINUTE),
        reaper.requeue_due_retries,
    ),
}

each_sweep = pytest.mark.parametrize(
    ("statement", "make", "sweep"), SWEEPS.values(), ids=list(SWEEPS)
)


@each_sweep
def test_a_sweep_that_saw_the_endpoint_active_leaves_the_dead_letter_alone(
    statement: str,
    make: Callable[[], Todo],
    sweep: Callable[[], int],
    one: Session,
    paused: Paused,
) -> None:
    todo = make()
    with paused(statement).of(one, sweep) as sweeping:
        endpoints.revoke(todo.endpoint)
    assert sweeping.result(timeout=PATIENCE) == 0
    _assert_over(todo.endpoint)
    assert "reaped" not in [ending[0] for ending in endings(todo)]


@each_sweep
def test_a_sweep_before_the_revocation_is_waited_for(
    statement: str,
    make: Callable[[], Todo],
    sweep: Callable[[], int],
    one: Session,
    other: Session,
) -> None:
    todo = make()
    one.begin()
    assert one.do(sweep) == 1
    revoking = other.start(endpoints.revoke, todo.endpoint)
    wait_until_blocked(other, by=one, doing=revoking)
    one.commit()
    revoking.result(timeout=PATIENCE)
    _assert_over(todo.endpoint)
    assert "revoked" not in [ending[0] for ending in endings(todo)]


@pytest.mark.parametrize("name", ["complete", "fail", "release"])
def test_a_holder_that_ends_its_work_first_is_waited_for(
    name: str, one: Session, other: Session
) -> None:
    todo = make_claimed()
    one.begin()
    one.do(getattr(transitions, name), todo.endpoint, todo.pk, owner=OWNER)
    revoking = other.start(endpoints.revoke, todo.endpoint)
    wait_until_blocked(other, by=one, doing=revoking)
    one.commit()
    assert revoking.result(timeout=PATIENCE).revocation_finished_at
    expected = "done" if name == "complete" else DEAD
    assert Todo.objects.get(pk=todo.pk).condition == expected
    assert "revoked" not in [ending[0] for ending in endings(todo)]
    assert_invariants()


@pytest.mark.parametrize("name", ["complete", "fail", "release", "heartbeat"])
def test_a_holder_that_waits_for_the_revocation_is_refused(
    name: str, one: Session, other: Session
) -> None:
    todo = make_claimed()
    one.begin()
    one.do(endpoints.revoke, todo.endpoint)
    acting = other.start(getattr(transitions, name), todo.endpoint, todo.pk, owner=OWNER)
    wait_until_blocked(other, by=one, doing=acting)
    one.commit()
    with pytest.raises(TodoConflict, match="dead letter"):
        acting.result(timeout=PATIENCE)
    assert endings(todo) == [("revoked", "dead_lettered", "claimed")]
    _assert_over(todo.endpoint)
