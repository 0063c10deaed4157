"""What the sweeps, an operator's reclaim and a revocation write: columns, ledger and hooks."""

import re
from datetime import timedelta

import pytest

from tests.factories import (
    ASKED,
    OWNER,
    assert_invariants,
    lapse,
    make,
    make_claimed,
    make_endpoint,
    make_parked,
    make_pending,
    make_waiting,
)
from tests.todos.seen import NOW, Seen, everything, watch
from todos import endpoints, reaper, transitions
from todos.errors import EndpointInactive, TodoConflict
from todos.models import Endpoint, Todo
from todos.states import INTERRUPT_STATES

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
LET_GO = {"owner": None, "lease_expires_at": None, "updated_at": NOW}
LET_GO_OF_WAIT = LET_GO | {"interrupted_at": None}
DEAD = {"state": "failed", "completed_at": NOW}
STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


def reaped(ended_from: str, disposition: str) -> dict[str, object]:
    outcome = {"outcome": "reaped", "disposition": disposition}
    return {"ended_at": NOW, "ended_from": ended_from} | outcome


def reclaim_of(todo: Todo, disposition: str) -> dict[str, object]:
    """As `reaped`, of a wait: the ledger remembers when it began, which the todo forgets."""
    assert todo.interrupted_at
    began = todo.interrupted_at - Todo.objects.get(pk=todo.pk).updated_at
    return reaped(todo.state, disposition) | {"waited_since": began}


def without_result(seen: Seen) -> dict[str, object]:
    return {name: value for name, value in seen.columns.items() if name != "result"}


def result_of(todo: Todo) -> dict[str, object]:
    result = Todo.objects.get(pk=todo.pk).result
    assert isinstance(result, dict)
    return result


def in_utc(stamp: object) -> str:
    return f"{stamp:%Y-%m-%dT%H:%M:%SZ}"


def test_a_due_retry_is_pending_again() -> None:
    todo = make_parked(due_in=NOW, result={"half": True})
    with watch(todo) as seen:
        assert reaper.requeue_due_retries() == 1
    assert seen.columns == {"state": "pending", "next_retry_at": None, "updated_at": NOW}
    assert seen.attempts == {}
    assert seen.hooks == ["pending", "ready: requeued"]
    assert_invariants()


def test_a_lapsed_lease_below_the_cap_is_requeued() -> None:
    todo = make_claimed(max_attempts=2, lapsed_for=NOW)
    with watch(todo) as seen:
        assert reaper.reap_expired() == 1
    assert seen.columns == LET_GO | {"state": "pending"}
    assert seen.attempts == {1: reaped("claimed", "requeued")}
    assert seen.hooks == ["pending", "ready: requeued"]
    assert_invariants()


@pytest.mark.parametrize("there", [None, {"half": True}])
def test_a_lapsed_lease_at_the_cap_is_a_dead_letter_that_says_why(there: object) -> None:
    todo = make_waiting(attempt=2, max_attempts=2, asked=there)
    todo = lapse(transitions.resume(todo.endpoint, todo.pk, owner=OWNER))
    with watch(todo) as seen:
        assert reaper.reap_expired() == 1
    assert without_result(seen) == LET_GO | DEAD
    assert seen.attempts == {2: reaped("claimed", "dead_lettered")}
    assert seen.hooks == ["failed"]
    assert result_of(todo) == {
        "error": "lease_expired",
        "detail": f"the lease of ada ran out at {in_utc(todo.lease_expires_at)} in attempt 2 of 2",
        "result": there,
    }
    assert_invariants()


@pytest.mark.parametrize("state", INTERRUPT_STATES)
def test_a_lapsed_wait_below_the_cap_is_requeued_with_what_was_asked(state: str) -> None:
    todo = make_waiting(state=state, max_attempts=2, age=DAY)
    with watch(todo) as seen:
        assert reaper.reap_interrupted() == 1
    assert seen.columns == LET_GO_OF_WAIT | {"state": "pending"}
    assert result_of(todo) == ASKED
    assert seen.attempts == {1: reclaim_of(todo, "requeued")}
    assert seen.hooks == ["pending", "ready: requeued"]
    assert_invariants()


@pytest.mark.parametrize("state", INTERRUPT_STATES)
@pytest.mark.parametrize("asked", [None, ASKED])
def test_a_lapsed_wait_at_the_cap_is_a_dead_letter_that_says_why(state: str, asked: object) -> None:
    todo = make_waiting(state=state, attempt=2, max_attempts=2, age=DAY, asked=asked)
    with watch(todo) as seen:
        assert reaper.reap_interrupted() == 1
    assert without_result(seen) == LET_GO_OF_WAIT | DEAD
    assert seen.attempts == {2: reclaim_of(todo, "dead_lettered")}
    assert seen.hooks == ["failed"]
    since = in_utc(todo.interrupted_at)
    assert result_of(todo) == {
        "error": "interrupt_expired",
        "detail": f"{state} since {since}, reclaimed, under an interrupt TTL of 86400 s",
        "interrupt": asked,
    }
    assert_invariants()


@pytest.mark.parametrize("state", INTERRUPT_STATES)
def test_an_operator_reclaims_a_wait_of_any_age(state: str) -> None:
    todo = make_waiting(state=state)
    with watch(todo) as seen:
        reclaimed = reaper.reclaim_now(todo.pk)
    assert seen.columns == LET_GO_OF_WAIT | {"state": "pending"}
    assert seen.attempts == {1: reclaim_of(todo, "requeued")}
    assert seen.hooks == ["pending", "ready: requeued"]
    assert (reclaimed.state, reclaimed.result) == ("pending", ASKED)
    assert_invariants()


def test_an_operators_reclaim_at_the_cap_is_a_dead_letter_that_names_the_operator() -> None:
    todo = make_waiting(max_attempts=1)
    with watch(todo) as seen:
        reclaimed = reaper.reclaim_now(todo.pk)
    assert without_result(seen) == LET_GO_OF_WAIT | DEAD
    assert seen.attempts == {1: reclaim_of(todo, "dead_lettered")}
    assert seen.hooks == ["failed"]
    assert reclaimed.result == result_of(todo)
    assert result_of(todo) == {
        "error": "interrupt_expired",
        "detail": f"input-required since {in_utc(todo.interrupted_at)}, reclaimed by an operator,"
        " under an interrupt TTL of 86400 s",
        "interrupt": ASKED,
    }


def test_an_operator_reclaims_nothing_of_an_endpoint_that_has_ended() -> None:
    todo = make_waiting()
    Endpoint.objects.update(expires_at=todo.created_at)
    with watch(todo) as seen, pytest.raises(EndpointInactive):
        reaper.reclaim_now(todo.pk)
    assert seen.columns == {}


LET_GO_OF_LIVE = {
    "pending": {},
    "claimed": {"owner": None, "lease_expires_at": None},
    "input-required": {"owner": None, "lease_expires_at": None, "interrupted_at": None},
    "auth-required": {"owner": None, "lease_expires_at": None, "interrupted_at": None},
    "failed, parked": {"next_retry_at": None},
}


@pytest.mark.parametrize("how", ["revoked", "expired"])
@pytest.mark.parametrize("condition", LET_GO_OF_LIVE)
def test_the_end_of_an_endpoint_dead_letters_its_live_todos(condition: str, how: str) -> None:
    todo = make(condition, endpoint=make_endpoint(name="till 3"))
    if how == "expired":
        Endpoint.objects.update(expires_at=todo.created_at)
    with watch(todo) as seen:
        if how == "revoked":
            endpoints.revoke(todo.endpoint)
        else:
            assert reaper.tick().revoked == 1
    let_go = LET_GO_OF_LIVE[condition]
    dead = {"completed_at": NOW, "updated_at": NOW} | ({} if "failed" in condition else DEAD)
    assert without_result(seen) == let_go | dead
    revoked = {"outcome": "revoked", "disposition": "dead_lettered"}
    closed = {1: {"ended_at": NOW, "ended_from": condition} | revoked}
    assert seen.attempts == (closed if "owner" in let_go else {})
    assert seen.hooks == ["failed"]
    result = result_of(todo)
    assert result.keys() == {"error", "detail"}
    assert result["error"] == f"endpoint_{how}"
    said = "expired" if how == "expired" else "was revoked"
    assert re.fullmatch(rf"endpoint till 3 {said} at {STAMP}", str(result["detail"]))
    assert_invariants()


@pytest.mark.parametrize("condition", ["done", "canceled", "rejected", "failed, dead letter"])
def test_the_end_of_an_endpoint_leaves_what_is_over(condition: str) -> None:
    todo = make(condition)
    with watch(todo) as seen:
        endpoints.revoke(todo.endpoint)
    assert (seen.columns, seen.attempts, seen.hooks) == ({}, {}, [])


def test_the_end_of_an_endpoint_touches_no_other() -> None:
    neighbour = make_waiting()
    todo = make_waiting()
    with watch(neighbour) as seen:
        endpoints.revoke(todo.endpoint)
    assert (seen.columns, seen.attempts, seen.hooks) == ({}, {}, [])


@pytest.mark.parametrize("end", ["revoked_at", "expires_at"])
def test_no_sweep_moves_a_todo_of_an_endpoint_that_has_ended(end: str) -> None:
    endpoint = make_endpoint()
    make_claimed(endpoint=endpoint, lapsed_for=9 * DAY)
    make_waiting(endpoint=endpoint, age=9 * DAY)
    make_parked(endpoint=endpoint, due_in=-9 * DAY)
    Endpoint.objects.update(**{end: endpoint.created_at})
    before = everything()
    assert reaper.reap_expired() == reaper.reap_interrupted() == reaper.requeue_due_retries() == 0
    assert everything() == before


def test_an_endpoint_that_will_expire_is_active_until_then() -> None:
    todo = make_waiting(age=DAY)
    Endpoint.objects.update(expires_at=todo.created_at + DAY)
    assert reaper.reap_interrupted() == 1


def test_a_dead_letter_of_a_lapsed_wait_comes_back_by_retry_with_its_story() -> None:
    todo = make_waiting(max_attempts=1, age=DAY)
    reaper.reap_interrupted()
    transitions.retry(todo.endpoint, todo.pk)
    claim = transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    assert claim.todo.result == result_of(todo)
    assert result_of(todo)["interrupt"] == ASKED
    assert [attempt.died for attempt in claim.prior_attempts] == [True]


def test_the_holder_of_a_reaped_lease_has_lost_it() -> None:
    todo = make_claimed(lapsed_for=NOW)
    reaper.reap_expired()
    with pytest.raises(TodoConflict, match="this one is pending"):
        transitions.complete(todo.endpoint, todo.pk, owner=OWNER)


def test_the_detail_is_one_line_even_if_the_owners_name_is_long() -> None:
    owner = "agent:" + "x" * 194
    todo = make_claimed(owner=owner, max_attempts=1, lapsed_for=NOW)
    reaper.reap_expired()
    assert "\n" not in str(result_of(todo)["detail"])
    assert owner in str(result_of(todo)["detail"])


def test_reclaim_now_wants_a_wait() -> None:
    todo = make_pending()
    with pytest.raises(TodoConflict, match="input-required or auth-required; this one is pending"):
        reaper.reclaim_now(todo.pk)
