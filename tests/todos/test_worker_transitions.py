"""What a worker's transitions write: every column, the ledger and the hooks."""

from typing import Any

import pytest

from tests.factories import (
    ANSWER,
    ASKED,
    OWNER,
    STRANGER,
    assert_invariants,
    lapse,
    ledger,
    make_claim,
    make_claimed,
    make_parked,
    make_pending,
    make_waiting,
)
from tests.todos.seen import NOW, row, seconds, watch
from todos import transitions
from todos.errors import TodoConflict
from todos.models import Todo

pytestmark = pytest.mark.django_db

REPORT: dict[str, Any] = {
    "result": {"stock": 7},
    "summary": "Counted the stock.",
    "artifact": "https://example.org/report/7",
}
REPORTED = {
    "summary": "Counted the stock.",
    "summary_truncated": False,
    "artifact": "https://example.org/report/7",
}
LET_GO = {"owner": None, "lease_expires_at": None, "updated_at": NOW}


def opened(todo: Todo, *, seq: int = 1, attempt: int = 1, **others: Any) -> dict[str, Any]:
    """The ledger entry that a claim opens."""
    return {
        "id": ledger(todo)[-1].pk,
        "todo_id": todo.pk,
        "seq": seq,
        "attempt": attempt,
        "claimer_kind": "endpoint",
        "claimer_endpoint_id": todo.endpoint_id,
        "owner": OWNER,
        "claimant": "",
        "claimed_at": NOW,
        "last_heartbeat_at": None,
        "lease_expires_at": seconds(300),
        "ended_at": None,
        "ended_from": None,
        "waited_since": None,
        "outcome": None,
        "disposition": None,
        "summary": None,
        "summary_truncated": False,
        "artifact": None,
        "lease_token_hash": None,
    } | others


def ended(outcome: str, disposition: str, **others: Any) -> dict[str, Any]:
    end = {"ended_from": "claimed", "outcome": outcome, "disposition": disposition}
    return {"ended_at": NOW} | end | others


def changed(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry as `watch` tells it, where the columns that are NULL or false have not changed."""
    return {name: value for name, value in entry.items() if value not in (None, False, "")}


def test_a_claim_takes_a_pending_todo_under_a_lease_and_opens_an_attempt() -> None:
    todo = make_pending()
    with watch(todo) as seen:
        claim = transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    assert seen.columns == {
        "state": "claimed",
        "owner": OWNER,
        "lease_expires_at": seconds(300),
        "claimed_at": NOW,
        "attempt": 1,
        "attempts_total": 1,
        "updated_at": NOW,
    }
    assert seen.attempts == {1: opened(todo)}
    assert seen.hooks == ["claimed"]
    assert (claim.attempt_seq, claim.attempts_total, claim.lease_token) == (1, 1, None)
    assert claim.prior_attempts == []


def test_a_claim_leaves_the_result_for_its_claimant_to_read() -> None:
    todo = make_parked(due_in=-seconds(1), result={"so far": "half"})
    with watch(todo) as seen:
        claim = transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    assert claim.todo.result == {"so far": "half"}
    assert "result" not in seen.columns
    assert seen.columns["next_retry_at"] is None
    assert (seen.columns["attempt"], seen.columns["attempts_total"]) == (2, 2)
    assert seen.attempts == {2: opened(todo, seq=2, attempt=2)}
    assert_invariants()


def test_a_takeover_closes_the_lapsed_attempt_and_opens_its_own() -> None:
    todo = make_claimed(lapsed_for=seconds(1))
    with watch(todo) as seen:
        claim = transitions.claim(todo.endpoint, todo.pk, owner=STRANGER)
    assert seen.columns == {
        "owner": STRANGER,
        "lease_expires_at": seconds(300),
        "claimed_at": NOW,
        "attempt": 2,
        "attempts_total": 2,
        "updated_at": NOW,
    }
    assert seen.attempts == {
        1: ended("lease_expired", "requeued"),
        2: opened(todo, seq=2, attempt=2, owner=STRANGER),
    }
    assert seen.hooks == ["claimed"]
    (prior,) = claim.prior_attempts
    assert (prior.seq, prior.outcome, prior.died, prior.summary) == (1, "lease_expired", True, None)
    assert_invariants()


def test_a_lapsed_lease_at_the_cap_is_the_reapers_and_no_claim_takes_it() -> None:
    todo = make_claimed(max_attempts=1, lapsed_for=seconds(1))
    with watch(todo) as seen, pytest.raises(TodoConflict, match="below the cap"):
        transitions.claim(todo.endpoint, todo.pk, owner=STRANGER)
    assert transitions.claim_next(todo.endpoint, None, owner=STRANGER) is None
    assert seen.columns == {}


def test_a_backoff_that_is_not_over_is_not_claimable() -> None:
    todo = make_parked(due_in=seconds(20))
    with pytest.raises(TodoConflict, match="failed, parked"):
        transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    assert transitions.claim_next(todo.endpoint, None, owner=OWNER) is None


@pytest.mark.parametrize(("name", "owner"), [(None, "operator"), ("joe", "joe")])
def test_an_operators_claim_is_written_as_a_humans(name: str | None, owner: str) -> None:
    todo = make_pending(assignee=STRANGER)
    with watch(todo) as seen:
        transitions.claim(None, todo.pk, owner=name)
    assert seen.columns["owner"] == owner
    assert seen.attempts == {
        1: opened(todo, owner=owner, claimer_kind="owner", claimer_endpoint_id=None)
    }
    assert_invariants()


def test_a_heartbeat_counts_the_lease_anew_and_touches_nothing_else() -> None:
    todo = lapse(make_claimed())
    with watch(todo) as seen:
        beaten = transitions.heartbeat(todo.endpoint, todo.pk, owner=OWNER)
    assert seen.columns == {"lease_expires_at": seconds(300)}
    assert seen.attempts == {1: {"last_heartbeat_at": NOW, "lease_expires_at": seconds(300)}}
    assert seen.hooks == []
    assert beaten.updated_at == todo.updated_at


def test_complete_ends_the_todo_as_done() -> None:
    todo = make_claimed()
    with watch(todo) as seen:
        transitions.complete(todo.endpoint, todo.pk, owner=OWNER, **REPORT)
    assert seen.columns == LET_GO | {
        "state": "done",
        "result": '{"stock": 7}',
        "completed_at": NOW,
    }
    assert seen.attempts == {1: changed(ended("completed", "done", **REPORTED))}
    assert seen.hooks == ["done"]
    assert_invariants()


def test_fail_below_the_cap_parks_the_todo() -> None:
    todo = make_claimed(max_attempts=2)
    with watch(todo) as seen:
        transitions.fail(todo.endpoint, todo.pk, owner=OWNER, **REPORT)
    assert seen.columns == LET_GO | {
        "state": "failed",
        "result": '{"stock": 7}',
        "next_retry_at": seconds(30),
    }
    assert seen.attempts == {1: changed(ended("failed", "retry_scheduled", **REPORTED))}
    assert seen.hooks == ["failed"]
    assert_invariants()


def test_fail_at_the_cap_is_a_dead_letter() -> None:
    todo = make_claimed(max_attempts=2, attempt=2)
    with watch(todo) as seen:
        transitions.fail(todo.endpoint, todo.pk, owner=OWNER, **REPORT)
    assert seen.columns == LET_GO | {
        "state": "failed",
        "result": '{"stock": 7}',
        "completed_at": NOW,
    }
    assert seen.attempts == {2: changed(ended("failed", "dead_lettered", **REPORTED))}
    assert seen.hooks == ["failed"]
    assert_invariants()


def test_release_puts_the_todo_back_with_its_attempt_used() -> None:
    todo = make_waiting()
    transitions.resume(todo.endpoint, todo.pk, owner=OWNER, result=ANSWER)
    report = {name: REPORT[name] for name in ("summary", "artifact")}
    with watch(todo) as seen:
        released = transitions.release(todo.endpoint, todo.pk, owner=OWNER, **report)
    assert seen.columns == LET_GO | {"state": "pending"}
    assert seen.attempts == {1: changed(ended("released", "requeued", **REPORTED))}
    assert seen.hooks == ["pending", "ready: requeued"]
    assert (released.attempt, released.result) == (1, ANSWER)
    assert_invariants()


@pytest.mark.parametrize("state", ["input-required", "auth-required"])
def test_interrupt_keeps_owner_lease_and_attempt_and_starts_the_waits_clock(state: str) -> None:
    todo = make_claimed()
    with watch(todo) as seen:
        transitions.interrupt(todo.endpoint, todo.pk, owner=OWNER, state=state, result=ASKED)
    assert seen.columns == {
        "state": state,
        "result": row(todo)["result"],
        "interrupted_at": NOW,
        "updated_at": NOW,
    }
    assert Todo.objects.get().result == ASKED
    assert seen.attempts == {}
    assert seen.hooks == [state]
    assert_invariants()


@pytest.mark.parametrize("verb", [transitions.complete, transitions.fail])
def test_a_result_that_is_not_given_is_written_as_none(verb: Any) -> None:
    todo = make_claimed(max_attempts=1)
    transitions.interrupt(todo.endpoint, todo.pk, owner=OWNER, state="auth-required", result=ASKED)
    transitions.resume(todo.endpoint, todo.pk, owner=OWNER)
    assert Todo.objects.get().result == ASKED
    verb(todo.endpoint, todo.pk, owner=OWNER)
    assert Todo.objects.get().result is None
    (entry,) = ledger(todo)
    assert (entry.summary, entry.summary_truncated, entry.artifact) == (None, False, None)


def test_an_interrupt_that_asks_nothing_clears_the_result() -> None:
    todo = make_waiting()
    transitions.resume(todo.endpoint, todo.pk, owner=OWNER)
    todo = transitions.interrupt(todo.endpoint, todo.pk, owner=OWNER, state="input-required")
    assert todo.result is None


@pytest.mark.parametrize("verb", ["complete", "fail", "release", "heartbeat", "interrupt"])
def test_a_holder_whose_lease_lapsed_may_still_go_on_while_nobody_took_the_todo(verb: str) -> None:
    todo = make_claimed(lapsed_for=seconds(3600))
    arguments = {"state": "auth-required"} if verb == "interrupt" else {}
    getattr(transitions, verb)(todo.endpoint, todo.pk, owner=OWNER, **arguments)
    assert_invariants()


def test_the_returned_todo_is_the_stored_row() -> None:
    todo = make_claimed(payload={"n": [1, None, "ü"]})
    fields = [field.attname for field in Todo._meta.concrete_fields]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("heartbeat", {}),
        ("interrupt", {"state": "input-required", "result": ASKED}),
        ("resume", {"result": ANSWER}),
        ("complete", {"result": [1]}),
    ]
    for verb, arguments in calls:
        returned = getattr(transitions, verb)(todo.endpoint, todo.pk, owner=OWNER, **arguments)
        stored = Todo.objects.get()
        for name in fields:
            assert getattr(returned, name) == getattr(stored, name), (verb, name)


def test_claims_of_one_todo_are_numbered_without_gaps() -> None:
    claim = make_claim(attempt=3)
    assert (claim.attempt_seq, claim.attempts_total) == (3, 3)
    assert [prior.seq for prior in claim.prior_attempts] == [2, 1]
