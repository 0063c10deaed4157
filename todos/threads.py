"""Database calls from asynchronous code: a bounded number of threads, each with a connection kept.

What only waits holds neither a thread nor a connection. A thread's connection is its own until an
error, or a word from the server while it was idle, puts it in doubt: then it is given back, and the
next call takes another one.
"""

import asyncio
import contextvars
import select
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection, reset_queries

T = TypeVar("T")

MAX_WAIT_SECONDS = 10.0
"""How long a call may wait for a thread; the same as for a connection of the pool."""

WITHOUT_A_POOL = 8


class NoThread(Exception):
    """Every thread was busy for too long; the call has not begun."""


async def run(work: Callable[[], T]) -> T:
    """Run `work` in a thread that may use the database.

    If the caller is cancelled, a call that has begun still ends.
    """
    job = partial(contextvars.copy_context().run, _job, work, time.monotonic())
    return await asyncio.wrap_future(executor().submit(job))


@cache
def executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads(), thread_name_prefix="database")


def threads() -> int:
    """Four fifths of the pool's connections: the rest is for pages."""
    size = _pool_size()
    return max(1, size * 4 // 5) if size else WITHOUT_A_POOL


def _pool_size() -> int:
    pool: Any = settings.DATABASES["default"]["OPTIONS"].get("pool")
    return int(pool["max_size"]) if pool else 0


def _job(work: Callable[[], T], asked_at: float) -> T:
    if time.monotonic() - asked_at > MAX_WAIT_SECONDS:
        raise NoThread
    if _in_doubt():
        connection.close()
    if settings.DEBUG:
        reset_queries()
    try:
        return work()
    finally:
        _give_back()


def _give_back() -> None:
    # Without a pool that keeps connections, none is kept here either.
    if connection.errors_occurred or not _pool_size():
        connection.close()


def _in_doubt() -> bool:
    """Whether the server said anything while nobody asked: mostly that it is gone."""
    raw = connection.connection
    if raw is None:
        return False
    if raw.closed:
        return True
    idle = select.poll()
    idle.register(raw.fileno(), select.POLLIN)
    return bool(idle.poll(0))
