"""Migration 0031 beside other sessions that hold the table, build its index, or migrate too."""

import os
import subprocess
import sys
import threading
import time
from types import ModuleType

import psycopg
import pytest
from django.conf import settings

from tests.todos.migrations.database import AFTER, BEFORE, BUILD, Database, parameters, until
from todos import online_migrations
from todos.online_migrations import MigrationStopped

INDEX = (
    "CREATE INDEX CONCURRENTLY todos_interrupted_idx ON todos (interrupted_at)"
    " WHERE state IN ('input-required', 'auth-required')"
)
WAITING = "SELECT pid FROM pg_stat_activity WHERE query LIKE %s AND wait_event_type = 'Lock'"
WRITE = "UPDATE todos SET title = 'written' WHERE id = 'td_mail_done_1'"


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines that migrations print; capsys may lose what a thread writes while it reads."""
    lines: list[str] = []
    monkeypatch.setattr(online_migrations, "say", lines.append)
    return lines


@pytest.mark.parametrize(("start", "target"), [(BEFORE, AFTER), (AFTER, BEFORE)])
def test_it_stops_behind_a_long_transaction_and_the_queue_goes_on(
    database: Database, migration: ModuleType, start: str, target: str
) -> None:
    database.seed()
    database.migrate(start)
    # The way back drops the index first, which waits for whoever holds the table: without harm.
    if target == BEFORE:
        database.session.execute("DROP INDEX todos_interrupted_idx")
    schema = database.schema()
    holder = database.hold("SELECT FROM todos")
    pid = holder.info.backend_pid

    began = time.monotonic()
    run = database.start(target)
    database.until(WAITING, "ALTER TABLE%")
    database.connect().execute(WRITE)
    with pytest.raises(MigrationStopped) as stopped:
        run.result(15)

    assert time.monotonic() - began < online_migrations.LOCK_TIMEOUT_MS / 1000 + 1
    assert f"held by pid {pid}" in str(stopped.value)
    assert "run migrate again" in str(stopped.value)
    assert database.schema() == schema
    database.session.execute(WRITE)
    holder.rollback()

    database.migrate(target)


def test_who_came_after_it_is_not_named(database: Database, migration: ModuleType) -> None:
    holder = database.hold("SELECT FROM todos")
    run = database.start(AFTER)
    database.until(WAITING, "ALTER TABLE%")
    late = database.connect()
    late.execute("BEGIN")
    late.execute("SELECT FROM todos")
    with pytest.raises(MigrationStopped) as stopped:
        run.result(15)

    assert f"pid {holder.info.backend_pid} " in str(stopped.value)
    assert f"pid {late.info.backend_pid} " not in str(stopped.value)


def test_who_may_not_see_what_others_do_learns_their_pids(database: Database) -> None:
    holder = database.hold("SELECT FROM todos")
    with database.django.cursor() as cursor:
        cursor.execute("SET ROLE pg_signal_backend")
        cursor.execute("SELECT statement_timestamp()")
        (now,) = cursor.fetchone()

    message = online_migrations._who_holds(database.django, "todos", now)

    assert f"held by pid {holder.info.backend_pid} (" in message
    assert "<insufficient privilege>" in message
    assert "None" not in message


def test_the_command_prints_the_message_alone(database: Database, migration: ModuleType) -> None:
    holder = database.hold("SELECT FROM todos")
    url = psycopg.conninfo.make_conninfo(**parameters(database.name))

    ended = subprocess.run(
        [sys.executable, "manage.py", "migrate", "todos", AFTER],
        cwd=settings.BASE_DIR,
        env={**os.environ, "DATABASE_URL": url},
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )

    assert ended.returncode == 1
    assert ended.stderr.startswith("MigrationStopped: todos is in use.")
    assert f"held by pid {holder.info.backend_pid}" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_build_by_another_session_is_waited_for_and_named(
    database: Database, migration: ModuleType, said: list[str]
) -> None:
    database.seed()
    database.session.execute("ALTER TABLE todos ADD COLUMN interrupted_at timestamptz")
    holder = database.hold(WRITE)
    other = database.connect()
    build = threading.Thread(target=other.execute, args=[INDEX])
    build.start()
    pid = database.until(BUILD)
    oid = database.rows("SELECT 'todos_interrupted_idx'::regclass::oid")
    run = database.start(AFTER)
    until(lambda: said)
    holder.rollback()
    build.join(15)
    run.result(15)

    assert said == [f"an index of todos is being built by pid {pid}: waiting until it ends"]
    assert database.rows("SELECT 'todos_interrupted_idx'::regclass::oid") == oid
    assert database.unstamped() == 0


def test_a_build_that_commits_just_now_is_not_undone(
    database: Database, migration: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no longer shown as running, and its index not yet as valid."""
    database.session.execute("ALTER TABLE todos ADD COLUMN interrupted_at timestamptz")
    holder = database.hold("LOCK todos IN ROW EXCLUSIVE MODE")
    build = threading.Thread(target=database.connect().execute, args=[INDEX])
    build.start()
    database.until(BUILD)
    oid = database.rows("SELECT 'todos_interrupted_idx'::regclass::oid")

    def end_build(seconds: float) -> None:
        holder.rollback()
        build.join(15)

    monkeypatch.setattr(online_migrations, "_wait_for_builds", lambda *args: False)
    monkeypatch.setattr("time.sleep", end_build)
    database.start(AFTER).result(15)

    assert database.rows("SELECT 'todos_interrupted_idx'::regclass::oid") == oid


def test_two_runs_at_once_do_no_harm(
    database: Database, migration: ModuleType, said: list[str]
) -> None:
    database.seed()
    database.session.execute("ALTER TABLE todos ADD COLUMN interrupted_at timestamptz")
    holder = database.hold(WRITE)
    first = database.start(AFTER)
    pid = database.until(BUILD)
    second = database.start(AFTER)
    until(lambda: len(said) == 2)
    holder.rollback()
    first.result(15)
    second.result(15)

    assert said[1] == f"another migrate is at work (pid {pid}): waiting until it ends"
    assert AFTER in database.applied()
    assert database.unstamped() == 0


def test_a_timeout_of_the_role_does_not_cut_the_build_off(
    database: Database, migration: ModuleType
) -> None:
    database.seed()
    database.session.execute("ALTER TABLE todos ADD COLUMN interrupted_at timestamptz")
    for name in ("lock_timeout", "statement_timeout"):
        database.session.execute(f"ALTER DATABASE {database.name} SET {name} = '100ms'")
    holder = database.hold(WRITE)
    run = database.start(AFTER)
    database.until(
        "SELECT 1 FROM pg_stat_progress_create_index JOIN pg_stat_activity USING (pid)"
        " WHERE clock_timestamp() > query_start + interval '150 ms'"
    )
    holder.rollback()
    run.result(15)

    assert database.unstamped() == 0
