"""Sweeps work in bounded batches, each its own commit, oldest first, within their time."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.factories import (
    age,
    assert_invariants,
    copies,
    make_claimed,
    make_endpoint,
    make_parked,
    make_pending,
    make_waiting,
)
from tests.todos.seen import heard, row
from todos import batches, endpoints, hooks, reaper
from todos.models import Endpoint, Todo

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)

Maker = Callable[..., Todo]


def lapsed_lease(for_: timedelta = MINUTE, **fields: Any) -> Todo:
    return make_claimed(lapsed_for=for_, **fields)


def lapsed_wait(for_: timedelta = MINUTE, **fields: Any) -> Todo:
    return make_waiting(age=DAY + for_, **fields)


def due_retry(for_: timedelta = MINUTE, **fields: Any) -> Todo:
    return make_parked(due_in=-for_, **fields)


DUE: dict[str, tuple[Maker, Callable[[], int]]] = {
    "leases": (lapsed_lease, reaper.reap_expired),
    "waits": (lapsed_wait, reaper.reap_interrupted),
    "retries": (due_retry, reaper.requeue_due_retries),
}
each_sweep = pytest.mark.parametrize(("make", "sweep"), DUE.values(), ids=list(DUE))


@pytest.mark.django_db
@each_sweep
def test_more_rows_than_a_batch_holds_go_in_several(make: Maker, sweep: Callable[[], int]) -> None:
    todo = make()
    copies(todo, 2 * batches.MAX_SIZE + 1)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert sweep() == 2 * batches.MAX_SIZE + 2
    written = [
        query for query in queries if "UPDATE todos" in query["sql"] and "limit" not in query
    ]
    assert Todo.objects.filter(state="pending").count() == 2 * batches.MAX_SIZE + 2
    assert len(written) >= 3
    assert_invariants()


@pytest.mark.django_db(transaction=True)
def test_each_batch_is_its_own_commit_and_no_transaction_is_open_in_between() -> None:
    copies(lapsed_lease(), batches.MAX_SIZE)
    seen: list[tuple[bool, int]] = []

    def look(**_: Any) -> None:
        if not seen or seen[-1][1] == 1:
            seen.append((connection.in_atomic_block, Todo.objects.filter(state="claimed").count()))

    hooks.todo_ready.connect(look)
    try:
        assert reaper.reap_expired() == batches.MAX_SIZE + 1
    finally:
        hooks.todo_ready.disconnect(look)
    # The hooks of the first batch see one row left, those of the second none.
    assert seen[0] == (False, 1)
    assert seen[-1] == (False, 0)


@pytest.mark.django_db
@pytest.mark.parametrize("end", ["revoked_at", "expires_at"])
@each_sweep
def test_exempt_rows_at_the_head_never_hide_the_others(
    make: Maker, sweep: Callable[[], int], end: str
) -> None:
    exempt = make(DAY)
    copies(exempt, batches.MAX_SIZE + 1)
    Endpoint.objects.update(**{end: exempt.created_at})
    others = {make().pk for _ in range(2)}
    with heard() as sent:
        assert sweep() == 2
    assert {todo_id for todo_id, _ in sent} == others


@pytest.mark.django_db
@each_sweep
def test_the_longest_overdue_go_first(
    make: Maker, sweep: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "MAX_SIZE", 2)
    monkeypatch.setattr(reaper, "TICK_BUDGET_SECONDS", 0)
    endpoint = make_endpoint()
    todos = {minutes: make(minutes * MINUTE, endpoint=endpoint).pk for minutes in (2, 5, 1, 4, 3)}
    for first, second in ((5, 4), (3, 2)):
        with heard() as sent:
            assert sweep() == 2
        assert {todo_id for todo_id, _ in sent} == {todos[first], todos[second]}


@pytest.mark.django_db
def test_a_tick_without_time_does_one_batch_of_each_and_the_next_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batches, "MAX_SIZE", 2)
    monkeypatch.setattr(reaper, "TICK_BUDGET_SECONDS", 0)
    for make in (lapsed_lease, lapsed_wait, due_retry):
        copies(make(), 2)
    ended = make_pending()
    copies(ended, 2)
    Endpoint.objects.filter(pk=ended.endpoint_id).update(revoked_at=ended.created_at)
    assert reaper.tick() == reaper.Tick(reaped=4, requeued=2, revoked=2, good=True)
    assert reaper.tick() == reaper.Tick(reaped=2, requeued=1, revoked=1, good=True)
    monkeypatch.undo()
    assert reaper.tick() == reaper.Tick(reaped=0, requeued=0, revoked=0, good=True)
    assert Endpoint.objects.get(pk=ended.endpoint_id).revocation_finished_at is not None
    assert_invariants()


@pytest.mark.django_db
def test_unstamped_waits_are_stamped_in_batches_and_reclaimed_in_the_same_call() -> None:
    todo = age(make_waiting(), updated_at=DAY)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE todos SET interrupted_at = NULL")
    copies(todo, batches.MAX_SIZE + 1)
    assert reaper.reap_interrupted() == batches.MAX_SIZE + 2
    assert Todo.objects.exclude(state="pending").count() == 0


@pytest.mark.django_db
def test_a_revocation_of_many_todos_is_finished_when_it_returns() -> None:
    todo = make_pending()
    copies(todo, batches.MAX_SIZE * 2)
    with heard() as sent:
        endpoint = endpoints.revoke(todo.endpoint)
    assert endpoint.revocation_finished_at is not None
    assert len(sent) == batches.MAX_SIZE * 2 + 1
    assert not Todo.objects.exclude(state="failed").exists()
    assert_invariants()


@pytest.mark.django_db
def test_a_swept_document_stays_as_large_as_it_was() -> None:
    large = {"text": "x" * 200_000}
    todo = make_waiting(age=DAY, asked=large, payload=large)
    ids = copies(todo, 3)
    assert reaper.reap_interrupted() == 4
    for todo_id in ids:
        assert len(row(todo_id)["result"]) > 200_000
    assert Todo.objects.get(pk=ids[0]).payload == large


@pytest.mark.django_db
def test_nothing_due_is_found_by_one_look_at_each() -> None:
    make_claimed()
    make_waiting()
    with CaptureQueriesContext(connection) as queries:
        assert reaper.reap_expired() == 0
    statements = [query["sql"] for query in queries if "SAVEPOINT" not in query["sql"]]
    # Leases, stamps, the setting, waits.
    assert len(statements) == 4
