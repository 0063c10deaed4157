"""The factories make what they say, and `assert_invariants` notices what is broken."""

from datetime import timedelta

import pytest
from django.db import connection

from tests import factories
from tests.factories import assert_invariants, make
from todos.models import Todo

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("condition", factories.MAKERS)
def test_every_condition_can_be_made_and_keeps_the_invariants(condition: str) -> None:
    make(condition)
    assert_invariants()


@pytest.mark.parametrize("condition", factories.MAKERS)
def test_copies_bring_their_ledger_along(condition: str) -> None:
    todo = make(condition)
    ids = factories.copies(todo, 3)
    assert len(set(ids)) == 3
    assert all(factories.endings(copy) == factories.endings(todo) for copy in ids)
    assert_invariants()


def test_a_given_attempt_follows_released_ones() -> None:
    todo = factories.make_claimed(attempt=3)
    assert (todo.attempt, todo.attempts_total) == (3, 3)
    assert [a.outcome for a in factories.ledger(todo)] == ["released", "released", None]


def test_ages_are_by_the_databases_clock_and_the_ledger_agrees() -> None:
    lapsed = factories.make_claimed(lapsed_for=timedelta(minutes=1))
    waiting = factories.make_waiting(age=timedelta(hours=1))
    parked = factories.make_parked(due_in=-timedelta(minutes=2))
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        (now,) = cursor.fetchone()
    minute = timedelta(minutes=1)
    assert minute <= now - lapsed.lease_expires_at < 2 * minute
    assert factories.ledger(lapsed)[0].lease_expires_at == lapsed.lease_expires_at
    assert 60 * minute <= now - waiting.interrupted_at < 61 * minute
    assert 2 * minute <= now - parked.next_retry_at < 3 * minute


@pytest.mark.parametrize(
    ("condition", "change", "number"),
    [
        ("claimed", "owner = NULL", "2"),
        ("claimed", "lease_expires_at = NULL", "2"),
        ("pending", "interrupted_at = now()", "2"),
        ("input-required", "interrupted_at = NULL", "2"),
        ("done", "owner = 'ghost'", "2"),
        ("done", "attempts_total = 7", "3"),
        ("done", "attempts_pruned = 1", "3"),
        ("claimed", "state = 'pending', owner = NULL, lease_expires_at = NULL", "1"),
    ],
)
def test_a_broken_invariant_is_noticed(condition: str, change: str, number: str) -> None:
    todo = make(condition)
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE todos SET {change} WHERE id = %s", [todo.pk])
    with pytest.raises(AssertionError, match=f"{todo.pk}.*{number}: "):
        assert_invariants()


def test_a_live_todo_of_a_finished_revocation_is_noticed() -> None:
    todo = make("pending")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE endpoints SET revoked_at = now(), revocation_finished_at = now()")
    with pytest.raises(AssertionError, match=f"{todo.pk}.*5: "):
        assert_invariants()
    assert Todo.objects.get().state == "pending"
