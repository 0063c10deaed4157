"""Schema changes on a live table, in steps that ask the catalogue what is already there.

No step stalls the queue for longer than LOCK_TIMEOUT_MS; interrupted anywhere, a second run
completes. They need a session of their own: `migrate` connects to PostgreSQL itself, never through
a transaction pooler.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError
from django.db import Error, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.errors import LockNotAvailable

# While ALTER TABLE waits for its lock, every other statement on the table queues behind it. Longer
# than deadlock_timeout (1 s): only a wait of that length makes a running autovacuum let go.
LOCK_TIMEOUT_MS = 2000

POLL_SECONDS = 0.5

_TURN = 460031
"""The advisory lock that one migration at a time holds."""

_TIMEOUTS = (
    "statement_timeout",
    "lock_timeout",
    "transaction_timeout",
    "idle_in_transaction_session_timeout",
)

_HOLDERS = """
SELECT lock.pid, activity.application_name, activity.backend_type, activity.state,
       extract(epoch FROM statement_timestamp() - activity.xact_start)::int AS seconds,
       left(regexp_replace(activity.query, '\\s+', ' ', 'g'), 80) AS query
FROM pg_locks AS lock LEFT JOIN pg_stat_activity AS activity ON activity.pid = lock.pid
WHERE lock.locktype = 'relation' AND lock.granted
  AND lock.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND lock.relation = to_regclass(%s)
  AND (lock.pid IS NULL
       OR activity.xact_start <= %s
       OR activity.query = '<insufficient privilege>')
GROUP BY lock.pid, activity.application_name, activity.backend_type, activity.state,
         activity.xact_start, activity.query
ORDER BY activity.xact_start
"""


class MigrationStopped(CommandError):
    """A step gave up in time; `migrate` prints the message alone, and can be run again."""


def say(line: str) -> None:
    """Tell whoever runs `migrate` how far it is."""
    sys.stdout.write(f"\n    {line}")
    sys.stdout.flush()


def rows(connection: BaseDatabaseWrapper, sql: str, params: list[Any] | None = None) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())


def execute(connection: BaseDatabaseWrapper, sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


@contextmanager
def one_at_a_time(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Run a step while no other `migrate` does, and without the timeouts of the role.

    A timeout that suits the queue's short statements would cut an index build off half-way.
    """
    _take_turn(connection)
    timeouts = rows(
        connection, "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", [list(_TIMEOUTS)]
    )
    _set(connection, [(name, "0") for name, _ in timeouts])
    try:
        yield
    except BaseException:
        # The session may be gone; what ended it is the error to see.
        with suppress(Error):
            _leave(connection, timeouts)
        raise
    _leave(connection, timeouts)


def _take_turn(connection: BaseDatabaseWrapper) -> None:
    # Polled, since a session that blocks in pg_advisory_lock() holds a snapshot, for whose end
    # CREATE INDEX CONCURRENTLY of the session with the lock would wait.
    told = False
    while not rows(connection, "SELECT pg_try_advisory_lock(%s)", [_TURN])[0][0]:
        if not told:
            holders = rows(
                connection,
                "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objid = %s"
                " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
                [_TURN],
            )
            pids = ", ".join(str(pid) for (pid,) in holders)
            say(f"another migrate is at work (pid {pids}): waiting until it ends")
            told = True
        time.sleep(POLL_SECONDS)


def _leave(connection: BaseDatabaseWrapper, timeouts: list[tuple[str, str]]) -> None:
    _set(connection, timeouts)
    rows(connection, "SELECT pg_advisory_unlock(%s)", [_TURN])


def _set(connection: BaseDatabaseWrapper, values: list[tuple[str, str]]) -> None:
    for name, value in values:
        rows(connection, "SELECT set_config(%s, %s, false)", [name, value])


def has_column(connection: BaseDatabaseWrapper, table: str, column: str) -> bool:
    return bool(
        rows(
            connection,
            "SELECT 1 FROM pg_attribute"
            " WHERE attrelid = to_regclass(%s) AND attname = %s AND NOT attisdropped",
            [table, column],
        )
    )


def alter_briefly(connection: BaseDatabaseWrapper, table: str, sql: str) -> None:
    """Run an ALTER TABLE that takes no time itself, and stop if the table stays locked."""
    try:
        with transaction.atomic(using=connection.alias):
            ((_, began),) = rows(
                connection,
                "SELECT set_config('lock_timeout', %s, true), statement_timestamp()",
                [f"{LOCK_TIMEOUT_MS}ms"],
            )
            execute(connection, sql)
    except Error as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        raise MigrationStopped(_who_holds(connection, table, began)) from error


def _who_holds(connection: BaseDatabaseWrapper, table: str, began: datetime) -> str:
    """The message that names who held the table before `began`: later ones queued behind us."""
    lines = [
        f"{table} is in use. Waiting longer than {LOCK_TIMEOUT_MS} ms would stall the queue.",
        "This step changed nothing.",
    ]
    holders = rows(connection, _HOLDERS, [table, began])
    for pid, application, backend, state, seconds, query in holders:
        if pid is None:
            lines.append("  held by a prepared transaction: see pg_prepared_xacts")
        else:
            who = ", ".join(filter(None, [application or backend, state]))
            since = "" if seconds is None else f" since {seconds} s"
            lines.append(f"  held by pid {pid} ({who}){since}: {query}")
    lines.append(
        "Wait until it ends, or end it with SELECT pg_terminate_backend(pid); then run migrate"
        " again: it goes on where it stopped."
        if holders
        else "Whoever held it has let go. Run migrate again: it goes on where it stopped."
    )
    return "\n".join(lines)


def build_index(connection: BaseDatabaseWrapper, table: str, name: str, sql: str) -> None:
    """Build an index CONCURRENTLY, unless a valid one of that name is there."""
    looked_twice = False
    while not (valid := _is_valid(connection, table, name)):
        if _wait_for_builds(connection, table):
            continue
        if valid is False and not looked_twice:
            # The commit that makes an index valid comes just after its build is shown as ended.
            looked_twice = True
            time.sleep(POLL_SECONDS)
            continue
        if valid is False:
            say(f"dropping {name}, which an interrupted build left invalid")
            execute(connection, f"DROP INDEX CONCURRENTLY {name}")
        if rows(connection, f"SELECT 1 FROM {table} LIMIT 1"):
            say(f"building {name}: pg_stat_progress_create_index shows how far, and waits for whom")
        execute(connection, sql)


def drop_index(connection: BaseDatabaseWrapper, table: str, name: str) -> None:
    """Drop an index CONCURRENTLY, if it is there."""
    _wait_for_builds(connection, table)
    if _is_valid(connection, table, name) is not None:
        execute(connection, f"DROP INDEX CONCURRENTLY {name}")


def _is_valid(connection: BaseDatabaseWrapper, table: str, name: str) -> bool | None:
    """Whether the index may be used by queries; None: it is not there."""
    found = rows(
        connection,
        "SELECT indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
        " WHERE indrelid = to_regclass(%s) AND relname = %s",
        [table, name],
    )
    return bool(found[0][0]) if found else None


def _wait_for_builds(connection: BaseDatabaseWrapper, table: str) -> bool:
    """Whether an index build ran in another session; it has ended now.

    Its index looks invalid until then, and a DROP would wait for the build and undo it.
    """
    told = False
    while builders := rows(
        connection,
        "SELECT pid FROM pg_stat_progress_create_index"
        " WHERE relid = to_regclass(%s) AND datname = current_database()"
        " AND pid <> pg_backend_pid()",
        [table],
    ):
        if not told:
            pids = ", ".join(str(pid) for (pid,) in builders)
            say(f"an index of {table} is being built by pid {pids}: waiting until it ends")
            told = True
        time.sleep(POLL_SECONDS)
    return told
