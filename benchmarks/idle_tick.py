"""A tick with nothing to do: among 1,000 live todos, and among 100,000 beside 1,000,000 done ones.

    python -m benchmarks.idle_tick [--few 1000] [--done 1000000] [--live 100000] [--rounds 7]

Two databases on one durable server take turns. Live todos are pending, claimed, waiting for input
and parked retries, a quarter each, and none is due.

Buffers are PostgreSQL's own counts for all statements of one tick: of tables and indexes, from
`pg_statio_user_tables`; of whatever the connection touched, planning and the catalog included, from
`pg_stat_get_backend_io` (PostgreSQL 18). Once for the first tick of a connection, as the worker's
are, and once with everything prepared.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import psycopg
from django.core.management import call_command
from django.db import connection

from benchmarks.scratch import bare_session, interleaved, scratch_database, table, use
from todos import endpoints, reaper

DONE = """
INSERT INTO todos (id, endpoint_id, queue, title, state, attempt, attempts_total, completed_at)
SELECT 'td_' || uuidv7(), %s, 'inbox', 'done ' || n, 'done', 1, 1, statement_timestamp()
FROM generate_series(1, %s) n
"""
LIVE = """
INSERT INTO todos (id, endpoint_id, queue, title, state, owner, lease_expires_at, claimed_at,
                   attempt, attempts_total, interrupted_at, next_retry_at)
SELECT 'td_' || uuidv7(), %s, 'inbox', 'live ' || n, s.state, CASE WHEN s.held THEN 'agent' END,
       CASE WHEN s.held THEN c.later END, statement_timestamp(), 1, 1,
       CASE WHEN s.state = 'input-required' THEN statement_timestamp() END,
       CASE WHEN s.state = 'failed' THEN c.later END
FROM generate_series(1, %s) n
CROSS JOIN LATERAL (
    SELECT statement_timestamp() + interval '1 day' + n * interval '1 ms' AS later
) c
CROSS JOIN LATERAL (
    SELECT (ARRAY['pending', 'claimed', 'input-required', 'failed'])[1 + n %% 4] AS state,
           n %% 4 IN (1, 2) AS held
) s
"""
ATTEMPTS = """
INSERT INTO todo_attempts (todo_id, seq, attempt, claimer_kind, claimer_endpoint_id, owner,
                           lease_expires_at, ended_at, ended_from, outcome, disposition)
SELECT t.id, 1, 1, 'endpoint', t.endpoint_id, 'agent', statement_timestamp(),
       CASE WHEN t.owner IS NULL THEN statement_timestamp() END,
       CASE WHEN t.owner IS NULL THEN 'claimed' END,
       CASE WHEN t.owner IS NULL THEN 'completed' END,
       CASE WHEN t.owner IS NULL THEN 'done' END
FROM todos t
"""
OF_THE_TABLES = """
SELECT sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit + idx_blks_read, 0))::bigint
FROM pg_statio_user_tables
"""
OF_ALL = """
SELECT sum(io.hits + io.reads)::bigint FROM pg_stat_get_backend_io(%s) io
WHERE io.object = 'relation'
"""
FEW, MANY = "few", "many"
WARM = 10


def load(name: str, done: int, live: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    use(name)
    call_command("migrate", verbosity=0)
    endpoint, _ = endpoints.vend(name="benchmark", queues=["inbox"])
    with connection.cursor() as cursor:
        cursor.execute(DONE, [endpoint.pk, done])
        cursor.execute(LIVE, [endpoint.pk, live])
        cursor.execute(ATTEMPTS)
        for name in ("todos", "todo_attempts"):
            cursor.execute(f"VACUUM ANALYZE {name}")
            cursor.execute(f"ALTER TABLE {name} SET (autovacuum_enabled = false)")


def tick() -> float:
    """In microseconds."""
    began = time.perf_counter()
    done = reaper.tick()
    took = time.perf_counter() - began
    if done != reaper.Tick(0, 0, 0, good=True):
        raise SystemExit(f"not an idle tick: {done}")
    return took * 1_000_000


def ticks(name: str, number: int) -> Callable[[], float]:
    """The median of some ticks on a connection whose statements are prepared."""

    def run() -> float:
        use(name)
        for _ in range(WARM):
            tick()
        return statistics.median(tick() for _ in range(number))

    return run


def first_ticks(name: str, number: int) -> Callable[[], float]:
    """The median of some ticks, each on a connection of its own, as the worker's is."""

    def run() -> float:
        times = []
        for _ in range(number):
            use(name)
            times.append(tick())
        return statistics.median(times)

    return run


def buffers(name: str) -> dict[str, int]:
    use(name)
    with bare_session() as watcher:
        first = counted(watcher)
        for _ in range(WARM):
            tick()
        return first | {f"{what}, prepared": n for what, n in counted(watcher).items()}


def counted(watcher: psycopg.Connection[Any]) -> dict[str, int]:
    """What one tick touches; what the counting itself does is not in it."""

    def now() -> tuple[int, int]:
        # Others see what a connection counted a second later, unless it is made to tell.
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_force_next_flush()")
        pid = connection.connection.info.backend_pid
        (tables,) = watcher.execute(OF_THE_TABLES).fetchone()  # type: ignore[misc]
        (everything,) = watcher.execute(OF_ALL, [pid]).fetchone()  # type: ignore[misc]
        return tables, everything

    for _ in range(WARM):
        now()
    before, between = now(), now()
    tick()
    after = now()
    tables, everything = (c - b - (b - a) for a, b, c in zip(before, between, after, strict=True))
    return {"tables and their indexes": tables, "with planning and catalog": everything}


def measure(options: argparse.Namespace) -> None:
    own = connection.settings_dict["NAME"]
    try:
        for name, done, live in ((FEW, 0, options.few), (MANY, options.done, options.live)):
            use(own)
            load(name, done, live)
        found = {name: buffers(name) for name in (FEW, MANY)}
        rows = {
            title: interleaved(
                {name: run(name, options.ticks) for name in (FEW, MANY)}, options.rounds
            )
            for title, run in (("first of its connection", first_ticks), ("prepared", ticks))
        }
    finally:
        use(own)
    print("\n### Buffers that an idle tick touches\n")  # noqa: T201
    print(f"| | {options.few} live | {options.live} live, {options.done} done |")  # noqa: T201
    print("| --- | ---: | ---: |")  # noqa: T201
    for what, few in found[FEW].items():
        print(f"| {what} | {few} | {found[MANY][what]} |")  # noqa: T201
    for title, times in rows.items():
        table(f"An idle tick, {title}", times, "µs", FEW)


def main() -> None:
    parser = argparse.ArgumentParser(description="an idle tick among few and among many todos")
    parser.add_argument("--few", type=int, default=1_000)
    parser.add_argument("--done", type=int, default=1_000_000)
    parser.add_argument("--live", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--ticks", type=int, default=30)
    with scratch_database():
        measure(parser.parse_args())


if __name__ == "__main__":
    main()
