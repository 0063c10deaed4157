"""claim_next + complete, one process: Switchboard, its SQL by bare psycopg, and procrastinate.

    python -m benchmarks.core [--pending 50000] [--done 1000000] [--rounds 7] [--pairs 1500]

The contenders take turns on one durable server. The baseline is autocommitted and prepared, on a
connection with the options of Django's. The peer's entry points are the ones that its own worker
uses: JobManager.fetch_job and finish_job.
"""

import argparse
import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import procrastinate
from django.db import connection
from procrastinate.jobs import Status

from benchmarks.scratch import bare_session, interleaved, scratch_database, table
from todos import endpoints, transitions
from todos.sql import statement


def load(endpoint: Any, pending: int, done: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO todos (id, endpoint_id, queue, title, state, attempt, completed_at)"
            " SELECT 'td_' || uuidv7(), %s, 'inbox', 'work', 'done', 1, statement_timestamp()"
            " FROM generate_series(1, %s)",
            [endpoint.pk, done],
        )
        cursor.execute(
            "INSERT INTO todos (id, endpoint_id, queue, title, created_at)"
            " SELECT 'td_' || uuidv7(), %s, 'inbox', 'work',"
            " statement_timestamp() + n * interval '1 microsecond' FROM generate_series(1, %s) n",
            [endpoint.pk, pending],
        )
        for status, count in (("succeeded", done), ("todo", pending)):
            cursor.execute(
                "INSERT INTO procrastinate_jobs (queue_name, task_name, args, status)"
                " SELECT 'inbox', 'work', '{}', %s::procrastinate_job_status"
                " FROM generate_series(1, %s)",
                [status, count],
            )
        cursor.execute("VACUUM ANALYZE todos")
        cursor.execute("VACUUM ANALYZE procrastinate_jobs")
        # Else what was loaded is written to disk while the contenders run.
        cursor.execute("CHECKPOINT")


def through_transitions(endpoint: Any, pairs: int) -> Callable[[], float]:
    def run() -> float:
        began = time.perf_counter()
        for _ in range(pairs):
            claim = transitions.claim_next(endpoint, ["inbox"], owner="benchmark")
            transitions.complete(endpoint, claim.todo.pk, owner="benchmark", result={"ok": True})
        return pairs / (time.perf_counter() - began)

    return run


def by_bare_psycopg(endpoint: Any, pairs: int) -> Callable[[], float]:
    """The very same SQL and parameters, and nothing around it."""
    session = bare_session()
    claim_next, complete = statement("claim_next"), statement("complete")
    claiming = {
        "endpoint": str(endpoint.pk),
        "queues": ["inbox"],
        "owner": "benchmark",
        "claimer_kind": "endpoint",
        "ttl": None,
        "server_ttl": 300,
        "claimant": "",
        "token": None,
    }
    completing = {
        "endpoint": str(endpoint.pk),
        "owner": "benchmark",
        "token": None,
        "result": '{"ok":true}',
        "summary": '{"ok":true}',
        "summary_truncated": False,
        "artifact": None,
    }

    def run() -> float:
        cursor = session.cursor()
        began = time.perf_counter()
        for _ in range(pairs):
            row = cursor.execute(claim_next, claiming).fetchone()
            cursor.execute(complete, completing | {"id": row[3]}).fetchone()
        return pairs / (time.perf_counter() - began)

    return run


@contextlib.contextmanager
def procrastinate_on(url: str, pairs: int) -> Iterator[Callable[[], float]]:
    loop = asyncio.new_event_loop()
    app = procrastinate.App(
        connector=procrastinate.PsycopgConnector(conninfo=url, min_size=1, max_size=1)
    )
    loop.run_until_complete(app.open_async())
    loop.run_until_complete(app.schema_manager.apply_schema_async())
    manager = app.job_manager
    worker = loop.run_until_complete(manager.register_worker())

    async def drain() -> None:
        for _ in range(pairs):
            job = await manager.fetch_job(["inbox"], worker)
            await manager.finish_job(job, Status.SUCCEEDED, delete_job=False)

    def run() -> float:
        began = time.perf_counter()
        loop.run_until_complete(drain())
        return pairs / (time.perf_counter() - began)

    try:
        yield run
    finally:
        loop.run_until_complete(app.close_async())
        loop.close()


def measure(options: argparse.Namespace, url: str) -> None:
    endpoint, _ = endpoints.vend(name="benchmark", queues=["inbox"])
    medians = []
    with procrastinate_on(url, options.pairs) as by_procrastinate:
        for done in (0, options.done):
            load(endpoint, options.pending, done)
            rows = interleaved(
                {
                    "bare psycopg, the same SQL": by_bare_psycopg(endpoint, options.pairs),
                    "todos.transitions": through_transitions(endpoint, options.pairs),
                    "procrastinate": by_procrastinate,
                },
                options.rounds,
            )
            title = f"claim_next + complete, {options.pending} pending, {done} done beside"
            table(title, rows, "pairs/s", "todos.transitions")
            medians.append(rows["todos.transitions"][0])
    print(f"\nwith {options.done} done beside: {medians[1] / medians[0]:.2f} of without")  # noqa: T201


def main() -> None:
    parser = argparse.ArgumentParser(
        description="claim_next + complete beside its floor and a peer"
    )
    parser.add_argument("--pending", type=int, default=50_000)
    parser.add_argument("--done", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--pairs", type=int, default=1_500)
    with scratch_database() as url:
        measure(parser.parse_args(), url)


if __name__ == "__main__":
    main()
