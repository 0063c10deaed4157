"""Whoever waits for an uncommitted claim ends the attempt that it opens, or leaves both alone.

A statement that waited for a row reads the row anew, but the ledger as it was before.
"""

from collections.abc import Callable
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
    make_pending,
)
from tests.races.sessions import PATIENCE, Session, wait_until_blocked
from todos import endpoints, reaper, transitions
from todos.errors import TodoConflict
from todos.models import Todo

MINUTE = timedelta(minutes=1)
TAKEN_OVER = ("lease_expired", "requeued", "claimed")

CLAIMABLE: dict[str, tuple[Callable[[], Todo], list[Any]]] = {
    "a claim": (make_pending, []),
    "a takeover": (lambda: make_claimed(lapsed_for=MINUTE), [TAKEN_OVER]),
    "a claim of a due retry": (
        lambda: make_parked(due_in=-MINUTE),
        [("failed", "retry_scheduled", "claimed")],
    ),
}

each_claim = pytest.mark.parametrize(("make", "before"), CLAIMABLE.values(), ids=list(CLAIMABLE))


def _claim(todo: Todo) -> Any:
    return transitions.claim(todo.endpoint, todo.pk, owner=OWNER)


def _operation(name: str, **arguments: Any) -> Callable[[Todo], Any]:
    def act(todo: Todo) -> Any:
        return getattr(transitions, name)(todo.endpoint, todo.pk, **arguments)

    return act


def _revoke(todo: Todo) -> Any:
    return endpoints.revoke(todo.endpoint)


def _during_a_claim(todo: Todo, act: Callable[[Todo], Any], one: Session, other: Session) -> Any:
    """What it answers to `act`, which waits for a claim of the todo that then commits."""
    one.begin()
    one.do(_claim, todo)
    acting = other.start(act, todo)
    wait_until_blocked(other, by=one, doing=acting)
    one.commit()
    return acting.result(timeout=PATIENCE)


ENDS: dict[str, tuple[Callable[[Todo], Any], str, Any]] = {
    "cancel": (_operation("cancel"), "canceled", ("canceled", "canceled", "claimed")),
    "revoke": (_revoke, "failed, dead letter", ("revoked", "dead_lettered", "claimed")),
    "complete": (_operation("complete", owner=OWNER), "done", ("completed", "done", "claimed")),
    "fail": (
        _operation("fail", owner=OWNER),
        "failed, parked",
        ("failed", "retry_scheduled", "claimed"),
    ),
    "release": (
        _operation("release", owner=OWNER),
        "pending",
        ("released", "requeued", "claimed"),
    ),
    "heartbeat": (_operation("heartbeat", owner=OWNER), "claimed", OPEN),
    "interrupt": (
        _operation("interrupt", owner=OWNER, state="input-required"),
        "input-required",
        OPEN,
    ),
}


@each_claim
@pytest.mark.parametrize(("act", "leaves", "ending"), ENDS.values(), ids=list(ENDS))
def test_who_waited_for_a_claim_ends_the_attempt_that_it_opened(
    make: Callable[[], Todo],
    before: list[Any],
    act: Callable[[Todo], Any],
    leaves: str,
    ending: Any,
    one: Session,
    other: Session,
) -> None:
    """Two workers of one endpoint share the owner, so either may end what the other took."""
    todo = make()
    _during_a_claim(todo, act, one, other)
    assert Todo.objects.get(pk=todo.pk).condition == leaves
    assert endings(todo) == [*before, ending]
    assert_invariants()


@each_claim
@pytest.mark.parametrize("name", ["complete", "heartbeat", "interrupt"])
def test_another_owner_that_waited_for_a_claim_is_refused(
    name: str,
    make: Callable[[], Todo],
    before: list[Any],
    one: Session,
    other: Session,
) -> None:
    more = {"state": "auth-required"} if name == "interrupt" else {}
    todo = make()
    with pytest.raises(TodoConflict, match="someone else"):
        _during_a_claim(todo, _operation(name, owner="other", **more), one, other)
    assert endings(todo) == [*before, OPEN]
    assert_invariants()


def test_the_fence_keeps_the_same_owner_out_after_a_takeover(one: Session, other: Session) -> None:
    todo = make_claimed(lapsed_for=MINUTE)
    one.begin()
    claim = one.do(transitions.claim, todo.endpoint, todo.pk, owner=OWNER, fence=True)
    completing = other.start(_operation("complete", owner=OWNER), todo)
    wait_until_blocked(other, by=one, doing=completing)
    one.commit()
    with pytest.raises(TodoConflict, match="token"):
        completing.result(timeout=PATIENCE)
    transitions.complete(todo.endpoint, todo.pk, owner=OWNER, lease_token=claim.lease_token)
    assert endings(todo) == [TAKEN_OVER, ("completed", "done", "claimed")]


def test_a_claim_that_waited_for_a_claim_is_refused(one: Session, other: Session) -> None:
    todo = make_claimed(lapsed_for=MINUTE)
    with pytest.raises(TodoConflict, match="is claimed"):
        _during_a_claim(todo, _claim, one, other)
    assert endings(todo) == [TAKEN_OVER, OPEN]
    assert_invariants()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("reject", {}), ("resume", {"owner": OWNER}), ("retry", {})],
)
def test_what_is_not_for_a_claimed_todo_is_refused_after_the_wait(
    name: str, arguments: dict[str, Any], one: Session, other: Session
) -> None:
    todo = make_pending()
    with pytest.raises(TodoConflict, match="this one is claimed"):
        _during_a_claim(todo, _operation(name, **arguments), one, other)
    assert endings(todo) == [OPEN]


def _claim_and_interrupt(todo: Todo) -> None:
    _claim(todo)
    transitions.interrupt(todo.endpoint, todo.pk, owner=OWNER, state="input-required")


def _reclaim_now(todo: Todo) -> Todo:
    return reaper.reclaim_now(todo.pk)


@pytest.mark.parametrize(
    ("act", "leaves", "ending"),
    [
        (_operation("resume", owner=OWNER), "claimed", OPEN),
        (_operation("resume", owner=OWNER, lease_ttl_seconds=60), "claimed", OPEN),
        (_operation("cancel"), "canceled", ("canceled", "canceled", "input-required")),
        (_reclaim_now, "pending", ("reaped", "requeued", "input-required")),
        (_revoke, "failed, dead letter", ("revoked", "dead_lettered", "input-required")),
    ],
    ids=["resume", "resume with a lease", "cancel", "reclaim now", "revoke"],
)
def test_who_waited_for_a_claim_that_became_a_wait_sees_its_attempt(
    act: Callable[[Todo], Any], leaves: str, ending: Any, one: Session, other: Session
) -> None:
    todo = make_pending()
    one.begin()
    one.do(_claim_and_interrupt, todo)
    acting = other.start(act, todo)
    wait_until_blocked(other, by=one, doing=acting)
    one.commit()
    acting.result(timeout=PATIENCE)
    assert Todo.objects.get(pk=todo.pk).condition == leaves
    assert endings(todo) == [ending]
    assert_invariants()


@each_claim
@pytest.mark.parametrize("act", [_operation("cancel"), _revoke], ids=["cancel", "revoke"])
def test_who_waited_for_a_claim_that_was_undone_finds_what_was_there_before(
    make: Callable[[], Todo],
    before: list[Any],
    act: Callable[[Todo], Any],
    one: Session,
    other: Session,
) -> None:
    todo = make()
    ledger = endings(todo)
    one.begin()
    one.do(_claim, todo)
    acting = other.start(act, todo)
    wait_until_blocked(other, by=one, doing=acting)
    one.rollback()
    acting.result(timeout=PATIENCE)
    assert Todo.objects.get(pk=todo.pk).condition in ("canceled", "failed, dead letter")
    assert len(endings(todo)) == len(ledger)
    assert OPEN not in endings(todo)
    assert_invariants()
