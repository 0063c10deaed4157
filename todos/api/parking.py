"""Claims that wait for work, without holding a thread or a connection meanwhile.

A todo that becomes pending wakes one waiter of its queue in each process, which tries to claim. If
its client goes away before it has tried, the next one is woken instead. Hints can be lost, and what
lapsed or is due can be claimed without one: so one statement per process looks every few seconds
for all who wait there.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextvars import Context
from dataclasses import dataclass, field
from functools import partial
from weakref import WeakKeyDictionary

from todos import feed, threads
from todos.feed.message import Place
from todos.sql import fetch_all
from todos.transitions import Claim

logger = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
"""How often a process looks by itself, give or take a fifth; the longest that a lost hint costs."""

TRYING = 2
"""How many of those who were woken try at once: they must not crowd out other requests."""


@dataclass(frozen=True)
class Try:
    """What a try found: without a claim, where to wait; how long its credential lasts, in s."""

    claim: Claim | None
    places: frozenset[Place] = frozenset()
    expires_in: float | None = None


@dataclass(eq=False)
class Waiter:
    places: frozenset[Place] | None = None
    """None: its first try is still to tell."""
    causes: dict[Place, str | None] = field(default_factory=dict)
    """Why it tries: places, and the todo that is new there; None: there may be more than one."""
    heard: dict[Place, str | None] = field(default_factory=dict)
    """What nobody else could be woken for while it tried."""
    missed: bool = False
    """While it tried for the first time, hints were lost."""
    woken: asyncio.Event = field(default_factory=asyncio.Event)


class Lot:
    """The waiters of one event loop."""

    def __init__(self) -> None:
        self._parked: dict[Place, dict[Waiter, None]] = {}
        self._trying: set[Waiter] = set()
        self._turns = asyncio.Semaphore(TRYING)
        self._users = 0
        self._following: asyncio.Task[None] | None = None
        self._listening = asyncio.Event()

    async def claim(self, attempt: Callable[[], Awaitable[Try]], seconds: float) -> Claim | None:
        """Try, and wait up to so many seconds for a try that succeeds. Raises what a try raises."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        waiter = Waiter()
        async with self._open():
            self._trying.add(waiter)
            try:
                tried = await attempt()
                while tried.claim is None:
                    left = deadline - loop.time()
                    if not await self._wait(waiter, tried, left):
                        return None
                    async with self._turns:
                        tried = await attempt()
                self._took(waiter, tried.claim.todo.pk)
                return tried.claim
            except Exception:
                # Whatever it is, the next one would only meet it as well.
                waiter.causes.clear()
                raise
            finally:
                self._leave(waiter)

    async def _wait(self, waiter: Waiter, tried: Try, left: float) -> bool:
        """Until there is a reason to try again; False: the time is over."""
        waiter.places = tried.places
        heard, waiter.heard = waiter.heard, {}
        waiter.causes = {place: todo for place, todo in heard.items() if place in tried.places}
        if waiter.missed:
            waiter.causes = dict.fromkeys(tried.places)
            waiter.missed = False
        if waiter.causes:
            return True
        expires_first = tried.expires_in is not None and tried.expires_in < left
        self._park(waiter)
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(tried.expires_in if expires_first else left):
                    await waiter.woken.wait()
        finally:
            self._unpark(waiter)
        # A credential that has expired is for the database to refuse.
        return bool(waiter.causes) or expires_first

    def _park(self, waiter: Waiter) -> None:
        waiter.woken.clear()
        self._trying.discard(waiter)
        for place in waiter.places or ():
            self._parked.setdefault(place, {})[waiter] = None

    def _unpark(self, waiter: Waiter) -> None:
        for place in waiter.places or ():
            if others := self._parked.get(place):
                others.pop(waiter, None)
                if not others:
                    del self._parked[place]
        self._trying.add(waiter)

    def _took(self, waiter: Waiter, todo_id: str) -> None:
        # What woke it may still be there if it is not what it took.
        waiter.causes = {place: todo for place, todo in waiter.causes.items() if todo != todo_id}

    def _leave(self, waiter: Waiter) -> None:
        """Its reasons to try that it has not tried are somebody else's."""
        self._trying.discard(waiter)
        for place, todo in (waiter.causes | waiter.heard).items():
            self.hear(place, todo)

    def hear(self, place: Place, todo: str | None) -> None:
        """There is something to claim: this todo, or, with None, perhaps many."""
        longest = next(iter(self._parked.get(place, ())), None)
        if longest is not None:
            self._wake(longest, place, todo)
            return
        for waiter in self._trying:
            if waiter.places is None or place in waiter.places:
                waiter.heard[place] = todo if place not in waiter.heard else None

    def _wake(self, waiter: Waiter, place: Place, todo: str | None) -> None:
        self._unpark(waiter)
        waiter.causes[place] = todo
        waiter.woken.set()

    def _look_at(self, places: Iterable[Place]) -> None:
        for place in list(places):
            self.hear(place, None)

    def _end(self, endpoints: Iterable[str]) -> None:
        """Whoever waits there tries again, and is refused."""
        ended = set(endpoints)
        if not ended:
            return
        for place in [place for place in self._parked if place[0] in ended]:
            for waiter in list(self._parked.get(place, ())):
                self._wake(waiter, place, None)
        for waiter in self._trying:
            waiter.missed = True

    @contextlib.asynccontextmanager
    async def _open(self) -> AsyncIterator[None]:
        """Inside, hints are heard; from the first user to the last."""
        self._users += 1
        try:
            if self._following is None or self._following.done():
                self._listening = asyncio.Event()
                # It outlives the request that starts it, whose id its lines must not bear.
                self._following = asyncio.create_task(
                    self._follow(self._listening), name="parking", context=Context()
                )
            await self._listening.wait()
            yield
        finally:
            self._users -= 1
            if not self._users and self._following is not None:
                self._following.cancel()
                self._following = None

    async def _follow(self, listening: asyncio.Event) -> None:
        looking = asyncio.create_task(self._keep_looking(), name="parking")
        try:
            async with feed.listen() as batches:
                listening.set()
                async for batch in batches:
                    self._take(batch)
        finally:
            listening.set()
            looking.cancel()

    def _take(self, batch: feed.Batch) -> None:
        for hint in batch.hints:
            if hint.reason is not None:
                self.hear((hint.endpoint, hint.queue), hint.todo)
        if batch.resync:
            self._look_at(batch.places or self._parked)
            if not batch.places:
                for waiter in self._trying:
                    waiter.missed = True
        if batch.ended:
            self._end(batch.ended)

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS * random.uniform(0.8, 1.2))  # noqa: S311
            if places := list(self._parked):
                try:
                    claimable, ended = await threads.run(partial(_look, places))
                except Exception as error:
                    logger.warning("waiting claims could not look for work: %s", error)
                else:
                    self._look_at(claimable)
                    self._end(ended)


def _look(places: list[Place]) -> tuple[list[Place], list[str]]:
    endpoints, queues = zip(*places, strict=True)
    owners = [f"agent:{endpoint}" for endpoint in endpoints]
    params = {"endpoints": list(endpoints), "queues": list(queues), "owners": owners}
    claimable = [(endpoint, queue) for endpoint, queue in fetch_all("claimable", params)]
    ended = fetch_all("inactive", {"endpoints": list(set(endpoints))})
    return claimable, [endpoint for (endpoint,) in ended]


_lots: WeakKeyDictionary[asyncio.AbstractEventLoop, Lot] = WeakKeyDictionary()


def lot() -> Lot:
    """The one of the running loop."""
    return _lots.setdefault(asyncio.get_running_loop(), Lot())
