"""Pruning a history against claims of the same todo: every attempt is kept or counted, once."""

import pytest

from settings_app.models import Setting
from tests.factories import OWNER, assert_invariants, ledger, make_pending
from tests.races.conftest import Paused
from tests.races.sessions import PATIENCE, Session, wait_until_blocked
from todos import transitions
from todos.models import AttemptTally, Todo
from todos.transitions import Claim

KEEP = 5


@pytest.fixture
def todo() -> Todo:
    """Its history is as long as it may be: the next claim prunes it."""
    Setting.objects.create(key="attempt_history_max_per_todo", value=str(KEEP))
    todo = make_pending()
    for _ in range(KEEP):
        _claim(todo)
        _release(todo)
    assert len(ledger(todo)) == KEEP
    return todo


def _claim(todo: Todo) -> Claim:
    return transitions.claim(todo.endpoint, todo.pk, owner=OWNER)


def _release(todo: Todo) -> Todo:
    return transitions.release(todo.endpoint, todo.pk, owner=OWNER)


def _claim_again(todo: Todo) -> None:
    """What another worker does with it in a moment."""
    _release(todo)
    _claim(todo)


def _assert_each_attempt_is_kept_or_counted(todo: Todo) -> None:
    todo.refresh_from_db()
    tallied = sum(AttemptTally.objects.values_list("count", flat=True))
    assert tallied == todo.attempts_pruned
    kept = [attempt.seq for attempt in ledger(todo)]
    assert kept == list(range(todo.attempts_pruned + 1, todo.attempts_total + 1))
    assert_invariants()


def test_a_prune_that_was_overtaken_by_another_counts_nothing_twice(
    todo: Todo, one: Session, paused: Paused
) -> None:
    with paused("prune_history").of(one, _claim, todo) as claiming:
        _claim_again(todo)
    assert claiming.result(timeout=PATIENCE).attempt_seq == KEEP + 1
    assert len(ledger(todo)) == KEEP
    _assert_each_attempt_is_kept_or_counted(todo)


def test_a_prune_waits_for_a_claim_and_counts_from_what_that_left(
    todo: Todo, one: Session, other: Session, paused: Paused
) -> None:
    with paused("prune_history").of(one, _claim, todo) as claiming:
        other.begin()
        other.do(_claim_again, todo)
    wait_until_blocked(one, by=other, doing=claiming)
    other.commit()
    claiming.result(timeout=PATIENCE)
    assert len(ledger(todo)) == KEEP
    _assert_each_attempt_is_kept_or_counted(todo)


def test_a_claim_that_is_undone_has_pruned_nothing(todo: Todo, one: Session) -> None:
    before = [attempt.seq for attempt in ledger(todo)]
    one.begin()
    one.do(_claim, todo)
    one.rollback()
    assert [attempt.seq for attempt in ledger(todo)] == before
    assert not AttemptTally.objects.exists()
    _assert_each_attempt_is_kept_or_counted(todo)


def test_prunes_of_two_todos_meet_at_the_tally_and_both_count(
    todo: Todo, one: Session, other: Session
) -> None:
    rival = make_pending(endpoint=todo.endpoint)
    for _ in range(KEEP):
        _claim(rival)
        _release(rival)
    one.begin()
    one.do(_claim, todo)
    claiming = other.start(_claim, rival)
    wait_until_blocked(other, by=one, doing=claiming)
    one.commit()
    claiming.result(timeout=PATIENCE)
    assert list(AttemptTally.objects.values_list("outcome", "count")) == [("released", 2)]
    assert_invariants()
