"""The sweep against whoever has the todo: the first to commit wins, and the other is told."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from tests.factories import (
    OPEN,
    OWNER,
    assert_invariants,
    endings,
    make_claimed,
    make_parked,
    make_waiting,
)
from tests.races.conftest import Paused
from tests.races.sessions import PATIENCE, Session, wait_until_blocked
from todos import reaper, transitions
from todos.errors import TodoConflict
from todos.models import Todo

DAYS = timedelta(days=2)
REAPED = ("reaped", "requeued")


@dataclass(frozen=True)
class Rival:
    """Someone who does something with a todo that the sweep `statement` is about to take."""

    statement: str
    make: Callable[[], Todo]
    act: Callable[[Todo], Any]
    leaves: str
    ending: tuple[str | None, str | None, str | None]
    refused_after: bool = True
    """Whether it is refused once the sweep has been there: a cancel and a claim are not."""


def _lapsed_lease() -> Todo:
    return make_claimed(lapsed_for=timedelta(minutes=1))


def _lapsed_wait() -> Todo:
    return make_waiting(age=DAYS)


def _held(name: str, **arguments: Any) -> Callable[[Todo], Any]:
    def act(todo: Todo) -> Any:
        return getattr(transitions, name)(todo.endpoint, todo.pk, owner=OWNER, **arguments)

    return act


def _cancel(todo: Todo) -> Any:
    return transitions.cancel(todo.endpoint, todo.pk)


def _take_over(todo: Todo) -> Any:
    return transitions.claim(todo.endpoint, todo.pk, owner="another worker")


def _from_wait(ending: str) -> tuple[str, str, str]:
    return (ending, ending, "input-required")


RIVALS = {
    "complete": Rival(
        "reap_leases", _lapsed_lease, _held("complete"), "done", ("completed", "done", "claimed")
    ),
    "fail": Rival(
        "reap_leases",
        _lapsed_lease,
        _held("fail"),
        "failed",
        ("failed", "retry_scheduled", "claimed"),
    ),
    "release": Rival(
        "reap_leases",
        _lapsed_lease,
        _held("release"),
        "pending",
        ("released", "requeued", "claimed"),
    ),
    "heartbeat": Rival("reap_leases", _lapsed_lease, _held("heartbeat"), "claimed", OPEN),
    "interrupt": Rival(
        "reap_leases",
        _lapsed_lease,
        _held("interrupt", state="auth-required"),
        "auth-required",
        OPEN,
    ),
    "cancel": Rival(
        "reap_leases",
        _lapsed_lease,
        _cancel,
        "canceled",
        ("canceled", "canceled", "claimed"),
        refused_after=False,
    ),
    "takeover": Rival(
        "reap_leases",
        _lapsed_lease,
        _take_over,
        "claimed",
        ("lease_expired", "requeued", "claimed"),
        refused_after=False,
    ),
    "resume": Rival(
        "reclaim_waits", _lapsed_wait, _held("resume", lease_ttl_seconds=60), "claimed", OPEN
    ),
    "cancel of a wait": Rival(
        "reclaim_waits",
        _lapsed_wait,
        _cancel,
        "canceled",
        _from_wait("canceled"),
        refused_after=False,
    ),
}

each_rival = pytest.mark.parametrize("rival", RIVALS.values(), ids=list(RIVALS))


def _state(todo: Todo) -> str:
    return Todo.objects.get(pk=todo.pk).state


@each_rival
def test_who_holds_the_row_uncommitted_keeps_it(rival: Rival, one: Session) -> None:
    todo = rival.make()
    one.begin()
    one.do(rival.act, todo)
    assert reaper.reap_expired() == 0
    one.commit()
    assert reaper.reap_expired() == 0
    assert _state(todo) == rival.leaves
    assert endings(todo)[0] == rival.ending
    assert_invariants()


@each_rival
def test_who_commits_between_the_sweeps_look_and_its_lock_keeps_the_row(
    rival: Rival, one: Session, paused: Paused
) -> None:
    todo = rival.make()
    with paused(rival.statement).of(one, reaper.reap_expired) as sweeping:
        rival.act(todo)
    assert sweeping.result(timeout=PATIENCE) == 0
    assert _state(todo) == rival.leaves
    assert endings(todo)[0] == rival.ending
    assert_invariants()


@pytest.mark.parametrize(
    "rival", [r for r in RIVALS.values() if r.refused_after], ids=lambda rival: rival.leaves
)
def test_who_waits_for_the_sweep_is_refused(rival: Rival, one: Session, other: Session) -> None:
    todo = rival.make()
    one.begin()
    assert one.do(reaper.reap_expired) == 1
    acting = other.start(rival.act, todo)
    wait_until_blocked(other, by=one, doing=acting)
    one.commit()
    with pytest.raises(TodoConflict, match="pending"):
        acting.result(timeout=PATIENCE)
    assert _state(todo) == "pending"
    assert [ending[:2] for ending in endings(todo)] == [REAPED]
    assert_invariants()


@pytest.mark.parametrize(
    ("name", "leaves", "ledger"),
    [
        ("cancel", "canceled", [(*REAPED, "claimed")]),
        ("takeover", "claimed", [(*REAPED, "claimed"), OPEN]),
        ("cancel of a wait", "canceled", [(*REAPED, "input-required")]),
    ],
)
def test_who_may_have_a_pending_todo_too_waits_for_the_sweep_and_gets_it(
    name: str, leaves: str, ledger: list[Any], one: Session, other: Session
) -> None:
    rival = RIVALS[name]
    todo = rival.make()
    one.begin()
    assert one.do(reaper.reap_expired) == 1
    acting = other.start(rival.act, todo)
    wait_until_blocked(other, by=one, doing=acting)
    one.commit()
    acting.result(timeout=PATIENCE)
    assert _state(todo) == leaves
    assert endings(todo) == ledger
    assert_invariants()


def test_a_sweep_that_is_undone_has_taken_nothing(one: Session, other: Session) -> None:
    todo = _lapsed_wait()
    one.begin()
    assert one.do(reaper.reap_expired) == 1
    resuming = other.start(RIVALS["resume"].act, todo)
    wait_until_blocked(other, by=one, doing=resuming)
    one.rollback()
    assert resuming.result(timeout=PATIENCE).state == "claimed"
    assert endings(todo) == [OPEN]
    assert_invariants()


@pytest.mark.parametrize(
    ("statement", "make", "sweep"),
    [
        ("reap_leases", _lapsed_lease, reaper.reap_expired),
        ("reclaim_waits", _lapsed_wait, reaper.reap_interrupted),
        (
            "requeue_due",
            lambda: make_parked(due_in=-timedelta(minutes=1)),
            reaper.requeue_due_retries,
        ),
    ],
    ids=["lapsed leases", "lapsed waits", "due retries"],
)
def test_a_sweep_that_was_overtaken_by_another_moves_nothing_twice(
    statement: str,
    make: Callable[[], Todo],
    sweep: Callable[[], int],
    one: Session,
    paused: Paused,
) -> None:
    todo = make()
    with paused(statement).of(one, sweep) as sweeping:
        assert sweep() == 1
        transitions.claim(todo.endpoint, todo.pk, owner="the next")
    assert sweeping.result(timeout=PATIENCE) == 0
    assert _state(todo) == "claimed"
    assert endings(todo)[1:] == [OPEN]
    assert_invariants()


def test_a_due_retry_that_is_claimed_first_is_left_alone(one: Session, paused: Paused) -> None:
    todo = make_parked(due_in=-timedelta(minutes=1))
    with paused("requeue_due").of(one, reaper.requeue_due_retries) as sweeping:
        _take_over(todo)
    assert sweeping.result(timeout=PATIENCE) == 0
    assert _state(todo) == "claimed"
    assert_invariants()
