"""Hears the messages of all processes, and hands each listener of this one what is its own.

One connection and one task per web process, from the first listener on until a while after the
last.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Collection
from contextvars import Context
from dataclasses import dataclass
from uuid import UUID
from weakref import WeakKeyDictionary

import redis.asyncio
from django.conf import settings
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from settings_app import registry
from todos.feed.message import Hint, Message, Place, channel, decode

logger = logging.getLogger(__name__)

MAX_WAITING = 1_000
"""How many hints wait for a slow listener; with more it is told to look again instead."""

RECONNECT_SECONDS = registry.SSE_RETRY.floor / 1_000
"""So that streams go on within their `retry:` whatever it is set to."""

SILENCE_SECONDS = 5.0
"""After so long without a word the connection is tried; after as long again it is given up."""

LINGER_SECONDS = 30.0
JOIN_SECONDS = 1.0
"""How long a new listener waits for the connection; without one it begins with a resync."""


@dataclass(frozen=True)
class Batch:
    """What has happened since the last one."""

    hints: tuple[Hint, ...] = ()
    resync: bool = False
    """Hints are missing: read the truth again."""
    places: frozenset[Place] = frozenset()
    """Where they are missing; empty, with `resync`: anywhere."""
    ended: frozenset[str] = frozenset()
    """Endpoints that were revoked, of those that are listened to."""


class Listener:
    """An endless iterator of batches, never empty ones; `next` of one that a timeout broke off
    loses nothing."""

    def __init__(self, endpoint: str | None, queues: frozenset[str] | None) -> None:
        self.endpoint = endpoint
        self._queues = queues
        self._something = asyncio.Event()
        self.forget()

    def forget(self) -> None:
        """Drop what has been heard so far."""
        self._hints: list[Hint] = []
        self._places: set[Place] = set()
        self._everywhere = False
        self._ended: set[str] = set()
        self._something.clear()

    def offer(self, message: Message) -> None:
        hints, places, ended = message.hints, message.places, message.ended
        if self.endpoint is not None:
            hints = message.hints_by_endpoint.get(self.endpoint, [])
            places = {place for place in places if place[0] == self.endpoint}
            ended = ended & {self.endpoint}
        if self._queues is not None:
            hints = [hint for hint in hints if hint.queue in self._queues]
            places = {place for place in places if place[1] in self._queues}
        if not (hints or places or ended or message.everywhere):
            return
        if len(self._hints) + len(hints) > MAX_WAITING:
            places = places | {(hint.endpoint, hint.queue) for hint in [*self._hints, *hints]}
            self._hints = []
        else:
            self._hints += hints
        self._places |= places
        self._everywhere |= message.everywhere
        self._ended |= ended
        self._something.set()

    def __aiter__(self) -> "Listener":
        return self

    async def __anext__(self) -> Batch:
        await self._something.wait()
        batch = Batch(
            tuple(self._hints),
            self._everywhere or bool(self._places),
            frozenset() if self._everywhere else frozenset(self._places),
            frozenset(self._ended),
        )
        self.forget()
        return batch


class Subscriber:
    """Of one event loop."""

    def __init__(self) -> None:
        self._listeners: set[Listener] = set()
        self._task: asyncio.Task[None] | None = None
        self._connected = asyncio.Event()
        self._lost = False

    @contextlib.asynccontextmanager
    async def listen(
        self, endpoint: str | None, queues: frozenset[str] | None
    ) -> AsyncIterator[Listener]:
        listener = Listener(endpoint, queues)
        self._listeners.add(listener)
        try:
            if self._task is None or self._task.done():
                # It outlives the request that starts it, whose id its lines must not bear.
                self._task = asyncio.create_task(self._run(), name="feed", context=Context())
            with contextlib.suppress(TimeoutError):
                # Without waiting for what is known to be away.
                async with asyncio.timeout(0 if self._lost else JOIN_SECONDS):
                    await self._connected.wait()
                listener.forget()
            yield listener
        finally:
            self._listeners.discard(listener)

    async def _run(self) -> None:
        while self._listeners:
            try:
                await self._hear()
            except Exception as error:
                if not self._lost:
                    logger.warning("feed: no hints arrive until Redis is back: %s", error)
                self._lost = True
            finally:
                self._connected.clear()
            if self._lost:
                await asyncio.sleep(RECONNECT_SECONDS)

    async def _hear(self) -> None:
        client = redis.asyncio.Redis.from_url(
            settings.REDIS_URL,
            socket_timeout=SILENCE_SECONDS,
            socket_connect_timeout=SILENCE_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        async with client, client.pubsub() as pubsub:
            await pubsub.subscribe(channel())
            needed = time.monotonic()
            tried = False
            while True:
                heard = await pubsub.get_message(timeout=SILENCE_SECONDS)
                if self._listeners:
                    needed = time.monotonic()
                elif time.monotonic() - needed > LINGER_SECONDS:
                    return
                if heard is not None:
                    tried = False
                    self._take(heard["type"], heard["data"])
                elif tried:
                    raise redis.ConnectionError("Redis does not answer")
                else:
                    tried = True
                    await pubsub.ping()

    def _take(self, kind: str, data: bytes) -> None:
        if kind == "subscribe":
            # The first one, or the client has connected anew by itself.
            if self._lost:
                logger.info("feed: Redis is back")
            self._lost = False
            self._connected.set()
            missed = Message()
            missed.everywhere = True
            self._offer(missed)
        elif kind == "message":
            self._offer(decode(data))

    def _offer(self, message: Message) -> None:
        for listener in self._listeners:
            listener.offer(message)


_subscribers: WeakKeyDictionary[asyncio.AbstractEventLoop, Subscriber] = WeakKeyDictionary()


def listen(
    endpoint_id: UUID | None = None, queues: Collection[str] | None = None
) -> contextlib.AbstractAsyncContextManager[Listener]:
    """Batches about one endpoint (None: all) and some of its queues (None: all), from now on."""
    subscriber = _subscribers.setdefault(asyncio.get_running_loop(), Subscriber())
    return subscriber.listen(
        None if endpoint_id is None else str(endpoint_id),
        None if queues is None else frozenset(queues),
    )
