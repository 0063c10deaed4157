"""A table as large as production's: 300,000 todos in every state, most of one endpoint."""

from uuid import UUID

from django.db import connection

DESK = UUID(int=1)
"""The endpoint that has the backlog."""

OWNER = "ada"
QUEUES = ("inbox", "reviews", "mail", "rare")
ASSIGNED_TO_OTHERS = 100_000
LAPSED = 2_000
"""Lapsed leases, lapsed waits and due retries: so many each."""

_KINDS = ("done", "others", *QUEUES, "dead", "claimed", "waiting", "parked")
"""The kinds of todos in the order in which they came."""

_COLUMNS = {
    "endpoint_id": "$desk",
    "queue": "'inbox'",
    "title": "'work ' || n",
    "payload": '\'{"path": "/"}\'::jsonb',
    "created_at": "now() - interval '5 days' + n * interval '1 ms'",
}
_DESK = f"'{DESK}'::uuid"
_SOME_ENDPOINT = "('00000000-0000-0000-0000-' || lpad((1 + n % 200)::text, 12, '0'))::uuid"
_HELD = {
    "endpoint_id": "$some",
    "attempt": "1",
    "attempts_total": "1",
    "owner": f"'{OWNER}'",
    "claimed_at": "now()",
}
_ENDED = {"endpoint_id": "$some", "attempt": "1", "attempts_total": "1", "completed_at": "now()"}


def load(*, analyzed: bool) -> None:
    """Fills the tables; unless `analyzed`, the statistics know only of what is done."""
    with connection.cursor() as cursor:
        for table in ("todos", "todo_attempts"):
            # Statistics come from here alone, not from whenever autovacuum wakes up.
            cursor.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = false)")
        cursor.execute(
            "INSERT INTO endpoints (id, name, queues, credential_hash, credential_prefix)"
            " SELECT ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid, 'desk ' || n,"
            " %s, sha256(n::text::bytea), 'sbk_' FROM generate_series(1, 200) n",
            [list(QUEUES)],
        )
        _insert("done", 80_000, state="'done'", **_ENDED)
        if not analyzed:
            cursor.execute("ANALYZE")
        _insert("others", ASSIGNED_TO_OTHERS, assignee="'colleague ' || n % 50")
        for queue, number in zip(QUEUES, (50_000, 30_000, 20_000, 50), strict=True):
            later = "now() - interval '4 days' + n * interval '1 ms'"
            _insert(queue, number, queue=f"'{queue}'", created_at=later)
        _insert("dead", 8_000, state="'failed'", **_ENDED)
        _insert(
            "claimed",
            6_000,
            state="'claimed'",
            lease_expires_at=f"now() + (n - {LAPSED}) * interval '1 minute'",
            **_HELD,
        )
        _insert(
            "waiting",
            6_000,
            state="(ARRAY['input-required', 'auth-required'])[1 + n % 2]",
            lease_expires_at="now()",
            interrupted_at=f"now() - interval '1 day' + (n - {LAPSED}) * interval '1 minute'",
            **_HELD,
        )
        _insert(
            "parked",
            6_000,
            state="'failed'",
            next_retry_at=f"now() + (n - {LAPSED}) * interval '1 minute'",
            **{name: _HELD[name] for name in ("endpoint_id", "attempt", "attempts_total")},
        )
        _insert_attempts()
        if analyzed:
            cursor.execute("ANALYZE")


def unload() -> None:
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE endpoints, todos, todo_attempts")
        for table in ("todos", "todo_attempts"):
            cursor.execute(f"ALTER TABLE {table} RESET (autovacuum_enabled)")


def todo_id(kind: str, number: int) -> str:
    """The id of the so-many-th todo of one kind, counted from 1. Ids rise with time."""
    return f"{_prefix(kind)}{number:06}"


def _prefix(kind: str) -> str:
    return f"td_{_KINDS.index(kind):02}_{kind}_"


def _insert(kind: str, number: int, **columns: str) -> None:
    """Todos of one kind; a column's expression may use their number `n`."""
    columns = {"id": f"'{_prefix(kind)}' || lpad(n::text, 6, '0')", **_COLUMNS, **columns}
    values = ", ".join(columns.values()).replace("$desk", _DESK).replace("$some", _SOME_ENDPOINT)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO todos ({', '.join(columns)})"
            f" SELECT {values} FROM generate_series(1, {number}) n"
        )


def _insert_attempts() -> None:
    """The attempt of each todo that had one, open where the todo is held."""
    with connection.cursor() as cursor:
        cursor.execute("""
            INSERT INTO todo_attempts (todo_id, seq, attempt, claimer_kind, owner,
                lease_expires_at, ended_at, ended_from, outcome, disposition)
            SELECT id, 1, 1, 'endpoint', 'ada', COALESCE(lease_expires_at, now()),
                   CASE WHEN owner IS NULL THEN now() END,
                   CASE WHEN owner IS NULL THEN 'claimed' END,
                   CASE WHEN owner IS NULL THEN 'completed' END,
                   CASE WHEN owner IS NULL THEN 'done' END
            FROM todos WHERE attempts_total = 1
        """)
