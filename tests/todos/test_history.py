"""How much of a todo's history is kept, and that what goes is counted."""

from datetime import timedelta

import pytest

from settings_app.models import Setting
from tests.factories import (
    OWNER,
    STRANGER,
    age,
    assert_invariants,
    lapse,
    ledger,
    make_claimed,
    make_pending,
)
from tests.todos.seen import rows
from todos import reaper, transitions
from todos.models import Attempt, AttemptTally, Todo

pytestmark = pytest.mark.django_db


def keep(number: str) -> None:
    Setting.objects.update_or_create(key="attempt_history_max_per_todo", defaults={"value": number})


def live_through(todo: Todo, *ends: str) -> None:
    """One attempt for each of the given ends."""
    for end in ends:
        claim = transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
        if end == "lapse":
            lapse(claim.todo)
            reaper.reap_expired()
        elif end == "wait":
            transitions.interrupt(todo.endpoint, todo.pk, owner=OWNER, state="auth-required")
            reaper.reclaim_now(todo.pk)
        else:
            transitions.release(todo.endpoint, todo.pk, owner=OWNER, summary=end)


def tallies() -> dict[tuple[str, str, str], int]:
    return {(t.queue, t.outcome, t.ended_from): t.count for t in AttemptTally.objects.all()}


def test_a_claim_returns_the_five_latest_closed_attempts_newest_first() -> None:
    todo = make_pending(max_attempts=99)
    live_through(todo, *"abcdefg")
    claim = transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    assert [prior.summary for prior in claim.prior_attempts] == ["g", "f", "e", "d", "c"]
    assert [prior.seq for prior in claim.prior_attempts] == [7, 6, 5, 4, 3]
    assert (claim.attempt_seq, claim.attempts_total) == (8, 8)


def test_it_does_so_also_where_the_fifth_is_pruned_by_that_very_claim() -> None:
    keep("5")
    todo = make_pending(max_attempts=99)
    live_through(todo, *"abcdefg")
    claim = transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    assert [prior.summary for prior in claim.prior_attempts] == ["g", "f", "e", "d", "c"]


def test_claim_next_returns_them_as_well() -> None:
    todo = make_pending(max_attempts=99)
    live_through(todo, *"abc")
    claim = transitions.claim_next(todo.endpoint, None, owner=STRANGER)
    assert claim is not None
    assert [prior.summary for prior in claim.prior_attempts] == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("setting", "kept"), [("5", 5), ("7", 7), ("4", 5), ("0", 5), ("-9", 5), ("9" * 40, 10)]
)
def test_no_more_attempts_are_kept_than_the_settings_row_says(setting: str, kept: int) -> None:
    keep(setting)
    todo = make_pending(max_attempts=99)
    live_through(todo, *"abcdefghi")
    claim = transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    assert [entry.seq for entry in ledger(todo)] == list(range(11 - kept, 11))
    assert claim.todo.attempts_pruned == Todo.objects.get().attempts_pruned == 10 - kept
    assert claim.attempts_total == 10
    assert_invariants()


def test_fifty_are_kept_where_nobody_says_otherwise() -> None:
    todo = make_pending(max_attempts=99)
    live_through(todo, *["x"] * 49)
    transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    assert (len(ledger(todo)), AttemptTally.objects.count()) == (50, 0)
    transitions.release(todo.endpoint, todo.pk, owner=OWNER)
    claim = transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    assert [entry.seq for entry in ledger(todo)] == list(range(2, 52))
    assert claim.todo.attempts_pruned == 1
    assert tallies() == {("inbox", "released", "claimed"): 1}


def test_what_goes_is_tallied_by_queue_outcome_and_last_state() -> None:
    keep("5")
    for queue in ("inbox", "reviews"):
        todo = make_pending(queue=queue, max_attempts=99)
        live_through(todo, "a", "lapse", "b", "wait", "wait", "c", "d", "e", "f")
        transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    pruned = {("released", "claimed"): 2, ("reaped", "claimed"): 1, ("reaped", "auth-required"): 2}
    assert tallies() == {
        (queue, *kind): count for queue in ("inbox", "reviews") for kind, count in pruned.items()
    }
    assert_invariants()


def test_kept_and_tallied_together_are_all_that_ever_was() -> None:
    keep("5")
    todo = make_pending(max_attempts=99)
    live_through(todo, *["lapse", "wait", "x"] * 5)
    transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    closed = Attempt.objects.exclude(ended_at=None)
    for outcome, ended_from, ever in [
        ("reaped", "claimed", 5),
        ("reaped", "auth-required", 5),
        ("released", "claimed", 5),
    ]:
        kept = closed.filter(outcome=outcome, ended_from=ended_from).count()
        assert kept + tallies().get(("inbox", outcome, ended_from), 0) == ever


def test_the_takeovers_own_close_is_never_pruned_by_its_claim() -> None:
    keep("5")
    todo = make_pending(max_attempts=99)
    live_through(todo, *"abcdef")
    lapse(transitions.claim(todo.endpoint, todo.pk, owner=OWNER).todo)
    claim = transitions.claim(todo.endpoint, todo.pk, owner=STRANGER)
    assert claim.prior_attempts[0].outcome == "lease_expired"
    assert [entry.outcome for entry in ledger(todo)][-2:] == ["lease_expired", None]
    assert_invariants()


def test_a_lowered_bound_takes_effect_at_the_next_claim_of_each_todo() -> None:
    todo, other = make_pending(max_attempts=99), make_pending(max_attempts=99)
    live_through(todo, *"abcdefghijkl")
    live_through(other, *"abcdefghijkl")
    keep("6")
    assert len(ledger(todo)) == 12
    transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    assert len(ledger(todo)) == 6
    assert len(ledger(other)) == 12
    assert Todo.objects.get(pk=other.pk).attempts_pruned == 0
    assert_invariants()


def test_pruning_is_not_an_update_of_the_todo() -> None:
    keep("5")
    todo = make_pending(max_attempts=99)
    live_through(todo, *"abcdef")
    claim = transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    assert Todo.objects.get().updated_at == claim.todo.updated_at == claim.todo.claimed_at


def test_sequence_numbers_are_never_used_again() -> None:
    keep("5")
    todo = make_pending(max_attempts=1)
    for _ in range(8):
        transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
        transitions.fail(todo.endpoint, todo.pk, owner=OWNER)
        transitions.retry(todo.endpoint, todo.pk)
    transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    assert [(e.seq, e.attempt) for e in ledger(todo)] == [(n, 1) for n in (5, 6, 7, 8, 9)]


def test_died_is_told_of_those_whose_holder_never_reported() -> None:
    todo = make_claimed(max_attempts=99)
    lapse(todo)
    transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    transitions.release(todo.endpoint, todo.pk, owner=OWNER)
    live_through(todo, "lapse", "wait")
    transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    transitions.fail(todo.endpoint, todo.pk, owner=OWNER)
    age(todo, next_retry_at=timedelta(days=1))
    transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    told = [(entry.outcome, entry.died) for entry in ledger(todo)]
    assert told == [
        ("lease_expired", True),
        ("released", False),
        ("reaped", True),
        ("reaped", True),
        ("failed", False),
        (None, False),
    ]
    assert rows("SELECT count(summary) FROM todo_attempts WHERE outcome = 'reaped'") == [
        {"count": 0}
    ]
