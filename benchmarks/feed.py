"""What the feed costs claim_next + complete at 8 connections, beside other ways to send hints.

    python -m benchmarks.feed [--rounds 7] [--pairs 400] [--connections 8] [--only feed]

Each contender is as many processes as connections, which work side by side; the contenders take
turns. A subscriber, a process of its own, hears and reads everything meanwhile, as a web process
does. "no hints": the hooks have no receiver for hints. The second table is processor time, of the
workers, the subscriber, PostgreSQL and Redis together: it holds on a machine with other work, too.
"""

import argparse
import asyncio
import contextlib
import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

import psutil

from benchmarks import scratch
from benchmarks.scratch import interleaved, scratch_database, table

ALONE = "no hints"
OURS = "one message per process and tick"


def receiver_of(contender: str) -> Callable[..., None] | None:
    """What the hook of each contender does."""
    import redis
    from django.conf import settings
    from django.db import connection

    from todos.feed import publisher
    from todos.feed.message import Message, channel, hint_of

    if contender == OURS:
        return publisher.enqueue
    client = redis.Redis.from_url(settings.REDIS_URL)

    def encoded(todo: Any, transition: str) -> bytes:
        message = Message()
        message.add(hint_of(todo, transition, None))
        return message.encode()

    def publish_each(sender: object, *, todos: Any, transition: str, **_: Any) -> None:
        for todo in todos:
            client.publish(channel(), encoded(todo, transition))

    def notify_each(sender: object, *, todos: Any, transition: str, **_: Any) -> None:
        with connection.cursor() as cursor:
            for todo in todos:
                cursor.execute("SELECT pg_notify('feed', %s)", [encoded(todo, transition).decode()])

    return {
        ALONE: None,
        "a Redis PUBLISH per transition": publish_each,
        "a pg_notify after each commit": notify_each,
    }[contender]


CONTENDERS = (
    ALONE,
    OURS,
    "a Redis PUBLISH per transition",
    "a pg_notify after each commit",
)


def work(contender: str, endpoint_id: Any, pairs: int, pipe: Connection) -> None:
    """One worker process: told to go, it drains so many todos and says when it is done."""
    from django.db import connections

    connections.close_all()
    from todos import transitions
    from todos.hooks import todos_transitioned
    from todos.metrics.deltas import deltas
    from todos.models import Endpoint

    deltas.interval = None
    todos_transitioned.disconnect(dispatch_uid="feed")
    if receiver := receiver_of(contender):
        todos_transitioned.connect(receiver, weak=False)
    endpoint = Endpoint.objects.get(pk=endpoint_id)
    pipe.send("ready")
    while pipe.recv():
        for _ in range(pairs):
            claim = transitions.claim_next(endpoint, ["inbox"], owner="benchmark")
            assert claim is not None  # noqa: S101
            transitions.complete(endpoint, claim.todo.pk, owner="benchmark", result={"ok": True})
        pipe.send("done")


def follow(pipe: Connection) -> None:
    """A web process with one board, for all contenders: it reads hints of either transport."""
    from django.db import connections

    connections.close_all()
    import psycopg

    from todos import feed
    from todos.feed.message import decode

    async def hear() -> None:
        params = {
            key: value
            for key, value in connections["default"].get_connection_params().items()
            if key in ("host", "port", "user", "password", "dbname")
        }
        session = await psycopg.AsyncConnection.connect(**params, autocommit=True)
        await session.execute("LISTEN feed")

        async def notices() -> None:
            async for notice in session.notifies():
                decode(notice.payload.encode())

        task = asyncio.create_task(notices())
        async with feed.listen() as batches:
            pipe.send("ready")
            async for _ in batches:
                pass
        await task

    asyncio.run(hear())


def processor_seconds(pids: list[int]) -> float:
    """Of these processes and their children so far."""
    total = 0.0
    for pid in pids:
        parent = psutil.Process(pid)
        for process in [parent, *parent.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total += times.user + times.system
    return total


@contextlib.contextmanager
def processes(
    contender: str,
    endpoint_id: Any,
    options: argparse.Namespace,
    servers: list[int],
    processor: dict[str, list[float]],
) -> Iterator[Callable[[], float]]:
    context = multiprocessing.get_context("fork")
    pipes = []
    started = []
    for _ in range(options.connections):
        ours, theirs = context.Pipe()
        process = context.Process(
            target=work, args=(contender, endpoint_id, options.pairs, theirs), daemon=True
        )
        process.start()
        started.append(process)
        pipes.append(ours)
    for pipe in pipes:
        pipe.recv()

    def run() -> float:
        pairs = options.pairs * options.connections
        refill(endpoint_id, pairs)
        pids = servers + [process.pid for process in started]
        used = processor_seconds(pids)
        began = time.perf_counter()
        for pipe in pipes:
            pipe.send(True)
        for pipe in pipes:
            pipe.recv()
        took = time.perf_counter() - began
        processor[contender].append((processor_seconds(pids) - used) / pairs * 1e6)
        return pairs / took

    yield run
    for pipe, process in zip(pipes, started, strict=True):
        pipe.send(False)
        process.join(timeout=10)


def refill(endpoint_id: Any, number: int) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE todo_attempts, todos CASCADE")
        cursor.execute(
            "INSERT INTO todos (id, endpoint_id, queue, title, created_at)"
            " SELECT 'td_' || uuidv7(), %s, 'inbox', 'work',"
            " statement_timestamp() + n * interval '1 microsecond' FROM generate_series(1, %s) n",
            [endpoint_id, number],
        )
        cursor.execute("VACUUM ANALYZE todos")
        cursor.execute("CHECKPOINT")


def measure(options: argparse.Namespace) -> None:
    from django.db import connection

    from todos import endpoints

    endpoint, _ = endpoints.vend(name="benchmark", queues=["inbox"])
    names = [name for name in CONTENDERS if not options.only or name in (ALONE, OURS)]
    connection.close()
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    follower = context.Process(target=follow, args=(theirs,), daemon=True)
    follower.start()
    ours.recv()
    servers = [follower.pid, *scratch.server_pids()]
    processor: dict[str, list[float]] = {name: [] for name in names}
    with contextlib.ExitStack() as stack:
        stack.callback(follower.kill)
        runs = {
            name: stack.enter_context(processes(name, endpoint.pk, options, servers, processor))
            for name in names
        }
        for run in runs.values():
            run()
        for used in processor.values():
            used.clear()
        title = f"claim_next + complete, {options.connections} connections, one subscriber"
        table(title, interleaved(runs, options.rounds), "pairs/s", ALONE)
    rows = {
        name: (statistics.median(used), min(used), max(used)) for name, used in processor.items()
    }
    table("processor time, all processes together", rows, "µs/pair", ALONE)


def main() -> None:
    parser = argparse.ArgumentParser(description="the cost of the feed, and of other ways")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--pairs", type=int, default=400, help="of each connection in a round")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--only", action="store_true", help="only with and without the feed")
    options = parser.parse_args()
    with scratch_database():
        measure(options)


if __name__ == "__main__":
    main()
