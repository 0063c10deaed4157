"""Requests whose database is busy or goes away, on connections as in production."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pytest
from django.db import connection

from tests.factories import assert_invariants, make_claimed, make_pending
from tests.todos.api.conftest import THREADS, Hire, Worker, trouble
from todos import endpoints, threads
from todos.models import Todo

pytestmark = pytest.mark.django_db(transaction=True)

SESSIONS = """
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND pid <> ALL(%s) AND backend_type = 'client backend'
"""
WAITING = """
SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


@pytest.fixture
def other() -> Iterator[psycopg.Connection[Any]]:
    """Somebody else's session."""
    parameters = connection.get_connection_params()
    wanted = {
        key: parameters[key]
        for key in ("dbname", "host", "user", "password", "port")
        if parameters.get(key)
    }
    with psycopg.connect(**wanted) as session:
        yield session


@pytest.fixture
def elsewhere() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def beside(
    pool: ThreadPoolExecutor, worker: Worker, path: str, **body: Any
) -> "Future[httpx.Response]":
    """A request from another thread, with an event loop of its own."""

    def ask() -> httpx.Response:
        loop = asyncio.new_event_loop()
        try:
            return Worker(loop, worker.endpoint, worker.credential).post(path, **body)
        finally:
            loop.close()

    return pool.submit(ask)


def lock(other: psycopg.Connection[Any], todo: Todo) -> None:
    other.execute("SELECT FROM todos WHERE id = %s FOR UPDATE", [todo.pk])


def wait_for_a_waiter() -> int:
    """The session that waits for a lock, once there is one."""
    while True:
        with connection.cursor() as cursor:
            cursor.execute(WAITING)
            if found := cursor.fetchall():
                return int(found[0][0])


def our_sessions(other: psycopg.Connection[Any]) -> list[int]:
    """Those that serve requests."""
    mine = connection.connection.info.backend_pid
    found = other.execute(SESSIONS, [[mine, other.info.backend_pid]]).fetchall()
    other.rollback()
    return [pid for (pid,) in found]


def end(other: psycopg.Connection[Any], pid: int) -> None:
    other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    other.rollback()


def test_connections_are_kept_and_never_more_than_threads(
    hire: Hire, other: psycopg.Connection[Any]
) -> None:
    worker = hire()

    async def burst() -> None:
        await asyncio.gather(*(threads.run(work) for _ in range(100)))

    def work() -> None:
        endpoints.authenticate(worker.credential)

    worker.loop.run_until_complete(burst())
    sessions = our_sessions(other)
    assert 1 <= len(sessions) <= THREADS
    worker.loop.run_until_complete(burst())
    assert set(our_sessions(other)) >= set(sessions)


def test_a_connection_that_died_while_idle_is_replaced(
    hire: Hire, other: psycopg.Connection[Any]
) -> None:
    worker = hire()
    assert worker.get("whoami").status_code == 200
    for pid in our_sessions(other):
        end(other, pid)
    assert worker.post("todos", queue="inbox", title="x").status_code == 201


def test_a_lock_timeout_has_changed_nothing(
    hire: Hire, other: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = hire()
    todo = make_claimed(endpoint=worker.endpoint, owner=worker.owner)
    lock(other, todo)
    monkeypatch.setenv("PGOPTIONS", "")
    in_doubt = threads._in_doubt

    def hurry() -> bool:
        doubt = in_doubt()
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '50ms'")
        return doubt

    monkeypatch.setattr(threads, "_in_doubt", hurry)
    answer = worker.post(f"todos/{todo.pk}/complete")
    error = trouble(answer, 503)
    assert (error["code"], error["outcome"]) == ("unavailable", "none")
    assert answer.headers["Retry-After"] == "1"
    other.rollback()
    assert Todo.objects.get().state == "claimed"
    assert worker.post(f"todos/{todo.pk}/complete").status_code == 200


def test_a_session_that_was_ended_amid_a_write_leaves_it_unknown(
    hire: Hire, other: psycopg.Connection[Any], elsewhere: ThreadPoolExecutor
) -> None:
    worker = hire()
    todo = make_claimed(endpoint=worker.endpoint, owner=worker.owner)
    lock(other, todo)
    asked = beside(elsewhere, worker, f"todos/{todo.pk}/complete")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [wait_for_a_waiter()])
    error = trouble(asked.result(timeout=10), 503)
    assert (error["code"], error["outcome"]) == ("unavailable", "unknown")
    other.rollback()
    assert worker.post(f"todos/{todo.pk}/complete").status_code == 200
    assert_invariants()


def test_a_revocation_while_a_claim_is_in_flight(
    hire: Hire, other: psycopg.Connection[Any], elsewhere: ThreadPoolExecutor
) -> None:
    """The claim has passed its credential and waits for the todo, while the endpoint is revoked."""
    worker = hire()
    todo = make_pending(endpoint=worker.endpoint)
    lock(other, todo)
    asked = beside(elsewhere, worker, f"todos/{todo.pk}/claim")
    wait_for_a_waiter()
    other.execute("UPDATE endpoints SET revoked_at = statement_timestamp()")
    other.commit()
    answer = asked.result(timeout=10)
    # Either it came first, or the credential is none; never a claim that the revocation misses.
    assert answer.status_code in (200, 401)
    endpoints.revoke(worker.endpoint)
    assert Todo.objects.get().state == "failed"
    assert_invariants()
    trouble(worker.post("todos/claim_next"), 401)


def test_when_all_threads_are_busy_for_too_long_nothing_has_begun(
    hire: Hire, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = hire()
    monkeypatch.setattr(threads, "MAX_WAIT_SECONDS", -1.0)
    error = trouble(worker.post("todos", queue="inbox", title="x"), 503)
    assert (error["code"], error["outcome"]) == ("unavailable", "none")
    assert not Todo.objects.exists()
