"""What goes wrong in a sweep is logged with its cause and stops nothing else."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, ProgrammingError, connection
from django.test.utils import CaptureQueriesContext

from settings_app import reading
from tests.factories import (
    assert_invariants,
    copies,
    make_claimed,
    make_endpoint,
    make_parked,
    make_pending,
    make_waiting,
)
from tests.todos import triggers
from tests.todos.seen import NOW, Row, row, seconds
from todos import batches, endpoints, reaper, sql
from todos.models import Endpoint, ReaperTick, Todo

pytestmark = pytest.mark.django_db

DAY = seconds(86_400)


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelname == "ERROR"]


def by_sql(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def unstamped_wait() -> Todo:
    todo = make_waiting()
    by_sql(f"UPDATE todos SET interrupted_at = NULL WHERE id = '{todo.pk}'")
    return todo


def live_todo_of_a_revoked_endpoint() -> Todo:
    todo = make_pending()
    Endpoint.objects.filter(pk=todo.endpoint_id).update(revoked_at=todo.created_at)
    return todo


DUE: dict[str, Callable[[], Todo]] = {
    "lapsed lease": lambda: make_claimed(lapsed_for=NOW),
    "lapsed wait": lambda: make_waiting(age=DAY),
    "due retry": lambda: make_parked(due_in=NOW),
    "unstamped wait": unstamped_wait,
    "revocation": live_todo_of_a_revoked_endpoint,
}


def make_due(kind: str, others: int = 0) -> dict[str, Row]:
    """A todo that the next tick moves and copies of it, as they are now."""
    todo = DUE[kind]()
    return {todo_id: row(todo_id) for todo_id in [todo.pk, *copies(todo, others)]}


def left_over(todos: dict[str, Row]) -> list[str]:
    """Those that nothing has changed since."""
    return sorted(todo_id for todo_id, before in todos.items() if row(todo_id) == before)


@pytest.mark.parametrize("kind", DUE)
def test_a_spoiled_row_is_logged_with_its_id_and_passed_over(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    todos = make_due(kind, others=40)
    spoiled = sorted(todos)[::20]
    triggers.poison(spoiled)
    assert reaper.tick().good
    assert left_over(todos) == spoiled
    said = {error.partition("\n")[0] for error in errors(caplog)}
    assert said == {f"passed over {todo_id}: this row is spoiled" for todo_id in spoiled}


@pytest.mark.parametrize("kind", DUE)
def test_a_spoiled_row_that_was_mended_goes_at_the_next_tick(kind: str) -> None:
    todos = make_due(kind)
    triggers.poison(todos)
    reaper.tick()
    assert left_over(todos) == list(todos)
    triggers.heal()
    reaper.tick()
    assert left_over(todos) == []
    assert_invariants()


def test_where_every_row_is_spoiled_a_sweep_comes_to_an_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    todo = make_claimed(lapsed_for=NOW)
    ids = [todo.pk, *copies(todo, 4)]
    triggers.poison(ids)
    assert reaper.reap_expired() == 0
    assert len(errors(caplog)) == len(ids)


def test_a_revocation_with_a_spoiled_row_is_not_finished_until_that_is_mended() -> None:
    todo = make_pending()
    ids = [todo.pk, *copies(todo, 3)]
    triggers.poison([ids[2]])
    endpoint = endpoints.revoke(todo.endpoint)
    assert endpoint.revocation_finished_at is None
    assert list(Todo.objects.filter(state="pending")) == [Todo.objects.get(pk=ids[2])]
    triggers.heal()
    assert reaper.tick().revoked == 1
    endpoint.refresh_from_db()
    assert endpoint.revocation_finished_at is not None
    assert_invariants()


@pytest.mark.parametrize("kind", ["lapsed lease", "lapsed wait", "due retry", "revocation"])
def test_a_batch_that_meets_a_statement_timeout_is_halved(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    todos = make_due(kind, others=599)
    triggers.timeout_beyond(200)
    with CaptureQueriesContext(connection) as queries:
        assert reaper.tick().good
    assert left_over(todos) == []
    assert errors(caplog) == []
    # 500 and 250 are too many; 125 are not, and no more than that are tried again.
    assert sum("ROLLBACK TO SAVEPOINT" in query["sql"] for query in queries) == 2
    assert_invariants()


def test_a_timeout_of_the_database_itself_is_one() -> None:
    todos = make_due("lapsed wait", others=399)
    triggers.slow_beyond(300)
    by_sql("SET LOCAL statement_timeout = 1000")
    assert reaper.tick().reaped == 400
    assert left_over(todos) == []


def test_one_row_that_times_out_by_itself_does_not_make_the_others_go_one_by_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    todos = make_due("lapsed wait", others=299)
    slow = sorted(todos)[0]
    triggers.poison([slow], code="query_canceled")
    with CaptureQueriesContext(connection) as queries:
        assert reaper.tick().reaped == 299
    assert left_over(todos) == [slow]
    assert len(errors(caplog)) == 1
    assert sum("due AS MATERIALIZED" in query["sql"] for query in queries) < 60


def test_a_database_that_is_too_slow_for_a_batch_still_progresses_in_each_tick(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reaper, "TICK_BUDGET_SECONDS", 0)
    todos = make_due("lapsed wait", others=499)
    triggers.timeout_beyond(200)
    assert [reaper.tick().reaped for _ in range(2)] == [125, 125]
    assert len(left_over(todos)) == 250


def test_a_lapsed_todo_whose_ledger_shows_no_open_attempt_is_logged_and_passed_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    todo = make_claimed(lapsed_for=NOW)
    broken = copies(todo, 2)[0]
    by_sql(f"DELETE FROM todo_attempts WHERE todo_id = '{broken}'")
    assert reaper.reap_expired() == 2
    assert errors(caplog) == [f"passed over {broken}: no open attempt, see `manage.py doctor`"]
    assert Todo.objects.get(pk=broken).state == "claimed"


@pytest.mark.parametrize(
    ("statement", "name", "kind_of_it"),
    [
        ("reap_leases", "lapsed leases", "lapsed lease"),
        ("stamp_waits", "unstamped waits", "unstamped wait"),
        ("reclaim_waits", "lapsed waits", "lapsed wait"),
        ("requeue_due", "due retries", "due retry"),
        ("revocation_lock_free", "revocation of ", "revocation"),
    ],
)
def test_a_sweep_that_fails_is_logged_with_its_cause_and_stops_no_other(
    statement: str,
    name: str,
    kind_of_it: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    todos = {kind: make_due(kind) for kind in DUE}

    def fail(called: str, params: dict[str, Any]) -> Any:
        if called == statement:
            raise RuntimeError("out of order")
        return sql.fetch_all(called, params)

    with monkeypatch.context() as patch:
        patch.setattr(batches, "fetch_all", fail)
        patch.setattr(endpoints, "fetch_all", fail)
        tick = reaper.tick()
    assert [kind for kind, due in todos.items() if left_over(due)] == [kind_of_it]
    (error,) = errors(caplog)
    assert error.startswith(f"sweep failed: {name}")
    assert "RuntimeError: out of order" in caplog.text
    assert not tick.good
    assert not ReaperTick.objects.exists()

    assert reaper.tick().good
    assert not any(map(left_over, todos.values()))
    assert ReaperTick.objects.exists()


def test_a_setting_that_cannot_be_read_stops_the_waits_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    todos = {kind: make_due(kind) for kind in DUE}

    def fail() -> None:
        raise ProgrammingError('relation "settings" does not exist')

    monkeypatch.setattr(reading, "interrupt_lease_ttl", fail)
    tick = reaper.tick()
    assert [kind for kind, due in todos.items() if left_over(due)] == ["lapsed wait"]
    assert (tick.reaped, tick.requeued, tick.revoked, tick.good) == (1, 1, 1, False)
    assert errors(caplog) == ["sweep failed: lapsed waits"]
    assert 'relation "settings" does not exist' in caplog.text
    assert "reaped expired leases count=1" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_settings_table_that_is_gone_stops_the_waits_and_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lapsed, waiting = make_claimed(lapsed_for=NOW), make_waiting(age=DAY)
    by_sql("ALTER TABLE settings RENAME TO mislaid")
    try:
        assert reaper.reap_expired() == 1
    finally:
        by_sql("ALTER TABLE mislaid RENAME TO settings")
    assert Todo.objects.get(pk=lapsed.pk).state == "pending"
    assert errors(caplog) == ["sweep failed: lapsed waits"]
    assert 'relation "settings" does not exist' in caplog.text
    assert reaper.reap_expired() == 1
    assert Todo.objects.get(pk=waiting.pk).state == "pending"


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_breaks_in_the_middle_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_claimed(lapsed_for=NOW)
    make_waiting(age=DAY)
    broken = []

    def break_down(name: str, params: dict[str, Any]) -> Any:
        if name in ("reap_leases", "reclaim_waits") and name not in broken:
            broken.append(name)
            by_sql("SELECT pg_terminate_backend(pg_backend_pid())")
        return sql.fetch_all(name, params)

    monkeypatch.setattr(batches, "fetch_all", break_down)
    tick = reaper.tick()
    assert (tick.reaped, tick.good) == (2, True)
    assert broken == ["reap_leases", "reclaim_waits"]
    assert_invariants()


def test_a_revocation_by_hand_says_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    todo = make_pending(endpoint=make_endpoint())

    def fail(name: str, params: dict[str, Any]) -> Any:
        raise DatabaseError("no such luck")

    with monkeypatch.context() as patch:
        patch.setattr(endpoints, "fetch_all", fail)
        with pytest.raises(DatabaseError, match="no such luck"):
            endpoints.revoke(todo.endpoint)
    marked = Endpoint.objects.get()
    assert marked.revoked_at is not None
    assert marked.revocation_finished_at is None
    assert Todo.objects.get() == todo
    assert reaper.tick().revoked == 1
