"""Sweeping lapsed waits: todos.reaper beside bare batched SQL that also closes the attempts.

    python -m benchmarks.sweep [--waits 100000] [--rounds 7]

Each run sweeps a fresh copy of one database, so that both find the same rows and no bloat. The
contenders take turns on one durable server, in batches of the same size. The resident memory that
the sweeping process gained at its peak is read from Linux's /proc.

The baseline is what a hand would write: it locks a batch, puts the todos back and closes their
attempts. It does not do what the reaper does besides: look whether the endpoint is active,
dead-letter at the cap and say why, leave a todo alone whose attempt is missing, count, return the
rows, send the hooks.
"""

import argparse
import re
import time
from collections.abc import Callable
from pathlib import Path

from django.db import connection

from benchmarks.scratch import bare_session, interleaved, scratch_database, table, use
from todos import endpoints, reaper
from todos.batches import MAX_SIZE

ALLOWED_GROWTH = 50
COPY = "copy"

TODOS = """
INSERT INTO todos (id, endpoint_id, queue, title, payload, state, owner, lease_expires_at,
                   claimed_at, attempt, attempts_total, interrupted_at, result, created_at)
SELECT 'td_' || uuidv7(), %s, 'queue-' || n %% 10, 'Review change ' || md5(n::text),
       jsonb_build_object('text', repeat(md5(n::text), 4)),
       (ARRAY['input-required', 'auth-required'])[1 + n %% 2], 'agent', statement_timestamp(),
       statement_timestamp() - interval '2 days', 1, 1,
       statement_timestamp() - interval '2 days' + n * interval '1 ms',
       jsonb_build_object('question', md5(n::text)), statement_timestamp() - interval '3 days'
FROM generate_series(1, %s) n
"""
ATTEMPTS = """
INSERT INTO todo_attempts (todo_id, seq, attempt, claimer_kind, claimer_endpoint_id, owner,
                           claimed_at, lease_expires_at)
SELECT t.id, 1, 1, 'endpoint', t.endpoint_id, t.owner, t.claimed_at, t.lease_expires_at
FROM todos t ORDER BY t.id
"""
BASELINE = """
WITH due AS MATERIALIZED (
    SELECT t.id, t.attempts_total, t.state FROM todos t
    WHERE t.state IN ('input-required', 'auth-required')
      AND t.interrupted_at < statement_timestamp() - make_interval(secs => %(ttl)s::bigint)
    ORDER BY t.interrupted_at LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
), closed AS (
    UPDATE todo_attempts a
    SET ended_at = statement_timestamp(), ended_from = d.state, outcome = 'reaped',
        disposition = 'requeued'
    FROM due d
    WHERE a.todo_id = d.id AND a.seq = d.attempts_total AND a.ended_at IS NULL
)
UPDATE todos t
SET state = 'pending', owner = NULL, lease_expires_at = NULL, interrupted_at = NULL,
    updated_at = statement_timestamp()
FROM due d
WHERE t.id = d.id
"""
LEFT = """
SELECT (SELECT count(*) FROM todos WHERE state <> 'pending'),
       (SELECT count(*) FROM todo_attempts WHERE outcome IS DISTINCT FROM 'reaped')
"""


def load(waits: int) -> None:
    endpoint, _ = endpoints.vend(name="benchmark", queues=[f"queue-{n}" for n in range(10)])
    with connection.cursor() as cursor:
        cursor.execute(TODOS, [endpoint.pk, waits])
        cursor.execute(ATTEMPTS)
        cursor.execute("VACUUM ANALYZE todos")
        cursor.execute("VACUUM ANALYZE todo_attempts")


def by_the_reaper() -> int:
    # One call ends after the 20 s of a tick.
    swept = 0
    while batch := reaper.reap_interrupted():
        swept += batch
    return swept


def by_bare_psycopg() -> int:
    swept = 0
    with bare_session() as session:
        cursor = session.cursor()
        while batch := cursor.execute(BASELINE, {"ttl": 86_400, "limit": MAX_SIZE}).rowcount:
            swept += batch
    return swept


def on_a_copy(
    template: str, sweep: Callable[[], int], waits: int, growth: list[float]
) -> Callable[[], float]:
    """Waits swept a second; the memory gained goes to `growth`, in MB."""

    def run() -> float:
        use("postgres")
        with connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE IF EXISTS {COPY}")
            cursor.execute(f"CREATE DATABASE {COPY} TEMPLATE {template}")
            cursor.execute("CHECKPOINT")
        use(COPY)
        before = resident("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # forgets the peak
        began = time.perf_counter()
        swept = sweep()
        took = time.perf_counter() - began
        growth.append(resident("VmHWM") - before)
        with connection.cursor() as cursor:
            cursor.execute(LEFT)
            left = cursor.fetchone()
        if swept != waits or left != (0, 0):
            raise SystemExit(f"swept {swept} of {waits}, left {left}")
        return waits / took

    return run


def resident(name: str) -> float:
    found = re.search(rf"^{name}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found  # noqa: S101
    return int(found[1]) / 1_024


def main() -> None:
    parser = argparse.ArgumentParser(description="lapsed waits swept, beside bare batched SQL")
    parser.add_argument("--waits", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    with scratch_database():
        template = connection.settings_dict["NAME"]
        load(options.waits)
        growth: dict[str, list[float]] = {"todos.reaper": [], "bare psycopg": []}
        sweeps = {"todos.reaper": by_the_reaper, "bare psycopg": by_bare_psycopg}
        contenders = {
            name: on_a_copy(template, sweep, options.waits, growth[name])
            for name, sweep in sweeps.items()
        }
        try:
            rows = interleaved(contenders, options.rounds)
        finally:
            use(template)
        table(f"{options.waits} lapsed waits swept", rows, "waits/s", "bare psycopg")
        most = max(growth["todos.reaper"])
        print(f"\nmemory gained at the peak: {most:.1f} MB, allowed {ALLOWED_GROWTH}")  # noqa: T201


if __name__ == "__main__":
    main()
