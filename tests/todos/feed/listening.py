"""Listeners in a loop of their own, as in a web process, beside the test's own thread."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from typing import Any
from uuid import UUID

from todos import feed
from todos.feed import Batch, Hint
from todos.feed.publisher import publisher


class Heard:
    """What one listener was handed so far."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    @property
    def hints(self) -> list[Hint]:
        return [hint for batch in self.batches for hint in batch.hints]

    @property
    def resyncs(self) -> int:
        return sum(batch.resync for batch in self.batches)

    @property
    def ended(self) -> bool:
        return any(batch.ended for batch in self.batches)

    def moves(self) -> list[tuple[str, str]]:
        """Each hint's todo and transition."""
        return [(hint.todo, hint.transition) for hint in self.hints]


class Loop:
    """An event loop in a thread, such as a web process has."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def start(self, coroutine: Any) -> "Future[Any]":
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def call(self, function: Callable[[], Any]) -> Any:
        async def now() -> Any:
            return function()

        return self.start(now()).result(timeout=20)

    @contextlib.contextmanager
    def listening(
        self, endpoint_id: UUID | None = None, queues: Collection[str] | None = None
    ) -> Iterator[Heard]:
        """A listener that is connected, or knows that Redis is away, inside the block."""
        heard, ready = Heard(), threading.Event()
        # What the test has done before is not to arrive afterwards.
        publisher.flush()

        async def follow() -> None:
            async with feed.listen(endpoint_id, queues) as batches:
                ready.set()
                async for batch in batches:
                    heard.batches.append(batch)

        task = self.start(follow())
        try:
            assert ready.wait(20)
            yield heard
        finally:
            task.cancel()

    def close(self) -> None:
        async def end() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self.start(end()).result(timeout=20)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(timeout=20)
        self.loop.close()
