"""A database that a test migrates, its rows, and a comparison of schemas."""

import json
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self

import psycopg
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor

BEFORE = "0017_dead_letter_revoked_waits"
AFTER = "0031_interrupted_at"
ACTIVE = "00000000-0000-4000-8000-000000000001"
REVOKED = "00000000-0000-4000-8000-000000000002"

BUILD = "SELECT pid FROM pg_stat_progress_create_index WHERE phase LIKE 'waiting%%'"
"""Who builds an index and waits for the transactions that were open before."""

Row = tuple[Any, ...]

# Every state, each with what it holds; the waits twice, so that a batch of two is not all of them.
_SEED = f"""
INSERT INTO endpoints (id, name, queues, credential_hash, credential_prefix, revoked_at)
VALUES ('{ACTIVE}', 'mail', '{{inbox}}', 'a', 'a', NULL),
       ('{REVOKED}', 'gone', '{{inbox}}', 'b', 'b', '2026-01-02 03:04:05+00');
INSERT INTO todos (id, endpoint_id, queue, title, state, owner, lease_expires_at, attempt,
                   attempts_total, next_retry_at, completed_at, result, updated_at)
SELECT 'td_' || endpoint.name || '_' || state || '_' || number, endpoint.id, 'inbox', 'a title',
       replace(state, 'parked', 'failed'),
       CASE WHEN held THEN 'somebody' END, CASE WHEN held THEN '2026-01-01'::timestamptz END,
       held::int, held::int,
       CASE WHEN state = 'parked' THEN '2026-01-01'::timestamptz END,
       CASE WHEN state IN ('failed', 'done', 'canceled', 'rejected')
            THEN '2026-01-01'::timestamptz END,
       jsonb_build_object('asked', number), statement_timestamp() - make_interval(hours => number)
FROM endpoints AS endpoint, generate_series(1, 3) AS number,
     unnest(ARRAY['pending', 'claimed', 'input-required', 'auth-required', 'parked', 'failed',
                  'done', 'canceled', 'rejected']) AS state,
     LATERAL (SELECT state IN ('claimed', 'input-required', 'auth-required') AS held) AS _;
INSERT INTO todo_attempts (todo_id, seq, attempt, claimer_kind, claimer_endpoint_id, owner,
                           lease_expires_at)
SELECT id, 1, 1, 'endpoint', endpoint_id, owner, lease_expires_at FROM todos
WHERE owner IS NOT NULL;
"""

_END_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""

_RESET = f"""
TRUNCATE todos, todo_attempts, endpoints;
ALTER TABLE todos DROP COLUMN IF EXISTS interrupted_at;
DELETE FROM django_migrations WHERE name > '{BEFORE}' AND app = 'todos';
"""

_SCHEMA = """
SELECT 'table', relname, 0, relpersistence::text FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
UNION ALL
SELECT 'column', attrelid::regclass || '.' || attname,
       row_number() OVER (PARTITION BY attrelid ORDER BY attnum),
       concat_ws(' ', format_type(atttypid, atttypmod), attnotnull, attidentity, attcollation,
                 pg_get_expr(adbin, adrelid))
FROM pg_attribute LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
     JOIN pg_class ON pg_class.oid = attrelid
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
UNION ALL
SELECT 'index', indexrelid::regclass::text, 0, pg_get_indexdef(indexrelid) || indisvalid
FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
WHERE relnamespace = 'public'::regnamespace
UNION ALL
SELECT 'constraint', conrelid::regclass || '.' || conname, 0, pg_get_constraintdef(oid)
FROM pg_constraint WHERE connamespace = 'public'::regnamespace
"""


def parameters(name: str) -> dict[str, Any]:
    """How a plain connection reaches a database of the test server."""
    default = connections["default"].settings_dict
    given = {
        "dbname": name,
        "user": default["USER"],
        "password": default["PASSWORD"],
        "host": default["HOST"],
        "port": default["PORT"],
    }
    return {key: value for key, value in given.items() if value}


def until(ask: Callable[[], Any]) -> Any:
    """Ask until the answer is true, and return it."""
    end = time.monotonic() + 15
    while time.monotonic() < end:
        if answer := ask():
            return answer
        time.sleep(0.002)
    raise AssertionError("it never became true")


class Database:
    """One database of the test server: an alias of Django's, by its name, and plain sessions."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._sessions: list[psycopg.Connection[Any]] = []
        self._threads = ThreadPoolExecutor(2)
        connections.databases[name] = {**connections["default"].settings_dict, "NAME": name}
        self.session = self.connect()

    @property
    def django(self) -> BaseDatabaseWrapper:
        """Django's connection of this thread."""
        return connections[self.name]

    def connect(self) -> psycopg.Connection[Any]:
        """Open a session as another process would; `close` closes it."""
        # Whoever waits for a lock fails in the end, and does not keep the suite waiting.
        session = psycopg.connect(
            **parameters(self.name), autocommit=True, options="-c statement_timeout=20s"
        )
        self._sessions.append(session)
        return session

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        # A migration that still waits for something would keep its thread, and pytest, for ever.
        self.session.execute(_END_OTHERS)
        self._threads.shutdown()
        for session in self._sessions:
            session.close()
        self.django.close()
        del connections[self.name], connections.databases[self.name]

    def rows(self, query: str, *params: Any) -> list[Row]:
        return self.session.execute(query, params).fetchall()

    def until(self, query: str, *params: Any) -> Any:
        """Ask until the first column of the first row is true, and return it."""
        return until(lambda: next((row[0] for row in self.rows(query, *params)), None))

    def hold(self, statement: str) -> psycopg.Connection[Any]:
        """Run a statement in a transaction that stays open until the caller's rollback."""
        session = self.connect()
        session.execute("BEGIN")
        session.execute(statement)
        return session

    def migrate(self, target: str | None) -> None:
        """Go to that migration of todos, forward or back (None: before all)."""
        MigrationExecutor(self.django).migrate([("todos", target)])

    def start(self, target: str) -> Future[None]:
        """Migrate in a thread, on a connection of its own."""

        def run() -> None:
            try:
                self.migrate(target)
            finally:
                self.django.close()

        return self._threads.submit(run)

    def applied(self) -> set[str]:
        rows = self.rows("SELECT name FROM django_migrations WHERE app = 'todos'")
        return {name for (name,) in rows}

    def reset(self) -> None:
        """Undo what a test did: much faster than a database for each, or than migrating back."""
        self.session.execute(f"ALTER DATABASE {self.name} RESET ALL")
        # The settings of a database reach new sessions alone.
        self.session = self.connect()
        later = "SELECT name FROM django_migrations WHERE app = 'todos' AND name > %s"
        if self.rows(later, AFTER):
            self.migrate(BEFORE)
        self.session.execute(_RESET)

    def seed(self) -> None:
        """Three todos in every state for an active endpoint, and as many for a revoked one."""
        self.session.execute(_SEED)

    def todos(self) -> dict[str, Any]:
        """Every todo as it was before 0031, by id."""
        query = "SELECT id, (to_jsonb(todos) - 'interrupted_at')::text FROM todos"
        return {todo_id: json.loads(row) for todo_id, row in self.rows(query)}

    def unstamped(self) -> int:
        """How many waits lack a stamp, having checked that all other todos are as they should."""
        rows = self.rows("SELECT state, interrupted_at, updated_at FROM todos")
        stamped = {(state, at == updated) for state, at, updated in rows if at}
        assert stamped <= {("input-required", True), ("auth-required", True)}
        return sum(state.endswith("-required") and not at for state, at, _ in rows)

    def schema(self) -> set[Row]:
        """Tables, columns in their order, indexes and constraints, as the catalogue has them."""
        return set(self.rows(_SCHEMA))
