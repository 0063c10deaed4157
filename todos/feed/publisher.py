"""Gathers the hooks of this process, and sends them to all web processes: one message a tick.

A transition costs an entry in memory. Sent one by one, or by `pg_notify`, hints would cost a third
of the throughput: `benchmarks/feed.py` measures it.
"""

import atexit
import logging
import os
import threading
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from todos.feed.message import Message, channel
from todos.models import Todo

logger = logging.getLogger(__name__)

TICK_SECONDS = 0.1
RETRY_SECONDS = 1.0
TIMEOUT_SECONDS = 2.0
"""Of the thread that sends; no transition waits for it."""


class Publisher:
    """A thread, started by the first hint, sends what was added since the last message.

    The first hint after a pause goes at once. While Redis is away hints are dropped, and when it is
    back everybody is told to look again.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        # Also in a forked child: what its parent gathered, and its connection, are its parent's.
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._message = Message()
        self._client: redis.Redis | None = None
        self._lost = False

    def add(
        self, todos: Iterable[Todo], transition: str, waited: Mapping[str, float] | None = None
    ) -> None:
        spans = waited or {}
        with self._lock:
            for todo in todos:
                self._message.note(todo, transition, spans.get(todo.id))
        self._wake_up()

    def end(self, endpoint: UUID) -> None:
        with self._lock:
            self._message.end(str(endpoint))
        self._wake_up()

    def _wake_up(self) -> None:
        if self._thread is None:
            self._start()
        if not self._wake.is_set():
            self._wake.set()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="feed", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            self._wake.wait(RETRY_SECONDS if self._lost else None)
            self._wake.clear()
            self.flush()
            pause.wait(RETRY_SECONDS if self._lost else TICK_SECONDS)

    def flush(self) -> None:
        """Send what was added; it never raises."""
        with self._sending:
            with self._lock:
                message, self._message = self._message, Message()
            if self._lost:
                message.everywhere = True
            if not message:
                return
            try:
                self._connected().publish(channel(), message.encode())
            except Exception as error:
                if not self._lost:
                    logger.warning("feed: hints are lost until Redis is back: %s", error)
                self._lost = True
            else:
                if self._lost:
                    logger.info("feed: Redis is back")
                self._lost = False

    def _connected(self) -> redis.Redis:
        if self._client is None:
            self._client = redis.Redis.from_url(
                settings.REDIS_URL,
                socket_timeout=TIMEOUT_SECONDS,
                socket_connect_timeout=TIMEOUT_SECONDS,
                # A connection that idled away is no reason to lose a message.
                retry=Retry(NoBackoff(), 1),
            )
        return self._client


publisher = Publisher()
os.register_at_fork(after_in_child=publisher._forget)


@atexit.register
def flush_at_exit(**_: Any) -> None:
    """Send the last hints of a process that ends in peace."""
    publisher.flush()


def enqueue(
    sender: object, *, todos: Iterable[Todo], transition: str, waited: Mapping[str, float], **_: Any
) -> None:
    """Receiver of `hooks.todos_transitioned`."""
    publisher.add(todos, transition, waited)


def end(sender: object, *, endpoint_id: UUID, **_: Any) -> None:
    """Receiver of `hooks.endpoint_ended`."""
    publisher.end(endpoint_id)
