"""One snapshot for all the boards of a web process that have the same filters.

Hints say when to look again, the database says what there is. So a thousand hints a second cost no
more than two looks, a lost one costs at most a resync, and a board that comes back needs no
history: its first snapshot is the truth.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from weakref import WeakKeyDictionary

from django.db import DatabaseError, connections

from todos import feed
from todos.board.lanes import Filters
from todos.board.snapshot import Snapshot, take

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 0.5
"""Between two looks, however much happens; a slow look is followed by a longer pause."""

RESYNC_SECONDS = 20.0
"""After so long without a hint the board looks by itself: one may have been lost."""

RETRY_SECONDS = 2.0
AT_ONCE = 2
"""How many looks of different filters share the web process's connections at a time."""


class Channel:
    """The latest snapshot of some filters. `problem`: it could not be renewed."""

    def __init__(self, filters: Filters, turns: asyncio.Semaphore) -> None:
        self.filters = filters
        self.snapshot: Snapshot | None = None
        self.problem = False
        self.looks = 0
        self.followers = 0
        self._turns = turns
        self._renewed = asyncio.Event()
        self.task = asyncio.create_task(self._run(), name=f"board {filters}")

    async def look_after(self, number: int) -> int:
        """Waits until there were more looks at the database than that, successful or not."""
        while self.looks <= number:
            await self._renewed.wait()
        return self.looks

    async def _run(self) -> None:
        queues = None if self.filters.queue is None else [self.filters.queue]
        async with feed.listen(self.filters.endpoint, queues) as batches:
            while True:
                took = await self._look()
                await asyncio.sleep(RETRY_SECONDS if self.problem else max(PAUSE_SECONDS, 4 * took))
                if not self.problem:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(RESYNC_SECONDS):
                            await anext(batches)

    async def _look(self) -> float:
        """Returns how many seconds it took, without the wait for a turn."""
        async with self._turns:
            clock = asyncio.get_running_loop().time
            began = clock()
            try:
                self.snapshot = await asyncio.to_thread(_take, self.filters)
                self.problem = False
            except DatabaseError as error:
                if not self.problem:
                    logger.warning("board: cannot look at the database: %s", error)
                self.problem = True
            took = clock() - began
        self.looks += 1
        renewed, self._renewed = self._renewed, asyncio.Event()
        renewed.set()
        return took


class Channels:
    """Of one event loop."""

    def __init__(self) -> None:
        self._channels: dict[Filters, Channel] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)

    @contextlib.asynccontextmanager
    async def follow(self, filters: Filters) -> AsyncIterator[Channel]:
        channel = self._channels.get(filters)
        if channel is None or channel.task.done():
            channel = self._channels[filters] = Channel(filters, self._turns)
        channel.followers += 1
        try:
            yield channel
        finally:
            channel.followers -= 1
            if not channel.followers:
                channel.task.cancel()
                if self._channels.get(filters) is channel:
                    del self._channels[filters]


def _take(filters: Filters) -> Snapshot:
    try:
        return take(filters)
    finally:
        # The thread goes on to others, and what it keeps the pool would miss.
        connections.close_all()


_channels: WeakKeyDictionary[asyncio.AbstractEventLoop, Channels] = WeakKeyDictionary()


def follow(filters: Filters) -> contextlib.AbstractAsyncContextManager[Channel]:
    return _channels.setdefault(asyncio.get_running_loop(), Channels()).follow(filters)
