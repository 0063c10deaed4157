"""`GET events`: hints about an endpoint's own todos, as a stream (docs/http.md)."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

from django.http import HttpRequest, HttpResponse

from settings_app import reading
from todos import feed, selectors
from todos.api import streams
from todos.api.calls import call
from todos.api.problems import Problem, Unavailable
from todos.models import Endpoint

COMMENT_SECONDS = 15.0
"""After so long without an event a comment shows that the stream lives."""

ENDED = ": the credential is revoked or has expired\n\n"


DOCUMENT = {
    "responses": {
        200: {
            "description": "A stream that ends with the credential.",
            "content": {
                "text/event-stream": {
                    "schema": {"type": "string"},
                    "example": "retry: 3000\n\nevent: todo\ndata: "
                    '{"id":"td_0197f1f2-7c3e-7d43-a0b1-0d1b3a1f6f10","queue":"inbox",'
                    '"state":"pending","reason":"created"}\n\n',
                }
            },
        }
    }
}
"""What the OpenAPI document says of it."""


class EventStream(HttpResponse):
    """The head of a stream; `events` are its body."""

    def __init__(self, events: AsyncGenerator[str, None]) -> None:
        super().__init__(content_type="text/event-stream")
        self.events = events
        # A proxy that buffers would keep the events to itself.
        self["X-Accel-Buffering"] = "no"


def expires_in(endpoint: Endpoint) -> float | None:
    """How long its credential lasts, in seconds by the database's clock; None: no end is set."""
    if endpoint.expires_at is None:
        return None
    return (endpoint.expires_at - selectors.now()).total_seconds()


async def respond(request: HttpRequest) -> EventStream:
    endpoint, retry = await call(request, lambda e: (e, reading.sse_retry_ms()))
    slot = await streams.take(str(endpoint.pk))
    return EventStream(_stream(request, endpoint, retry, slot))


async def _stream(
    request: HttpRequest, endpoint: Endpoint, retry: int, slot: streams.Slot
) -> AsyncGenerator[str, None]:
    loop = asyncio.get_running_loop()
    async with slot, feed.listen(endpoint.pk) as batches:
        # After the listener has begun, lest a revocation fall between the two.
        left = await _left(request)
        yield f"retry: {retry}\n\n"
        ends = None if left is None else loop.time() + left
        while left is None or left > 0:
            wait = COMMENT_SECONDS if ends is None else min(COMMENT_SECONDS, ends - loop.time())
            try:
                async with asyncio.timeout(wait):
                    batch = await anext(batches)
            except TimeoutError:
                batch = feed.Batch()
                await slot.keep()
            yield _written(batch)
            if batch.ended or batch.resync or not batch.hints:
                left = await _left(request)
                ends = None if left is None else loop.time() + left
        yield ENDED


async def _left(request: HttpRequest) -> float | None:
    """How long the stream may go on: 0 if its credential counts no longer, None: no end is set."""
    try:
        return await call(request, expires_in)
    except Unavailable:
        # The database is away: nothing says that the credential does not count.
        return COMMENT_SECONDS
    except Problem:
        return 0.0


def _written(batch: feed.Batch) -> str:
    """A batch as events; without any, a comment."""
    events = "".join(_event("todo", _shown(hint)) for hint in batch.hints)
    if batch.resync:
        events += _event("resync", {})
    return events or ":\n\n"


def _shown(hint: feed.Hint) -> dict[str, Any]:
    return {"id": hint.todo, "queue": hint.queue, "state": hint.state, "reason": hint.reason}


def _event(name: str, data: dict[str, Any]) -> str:
    # JSON has no line ends of its own, so that the data is one line.
    return f"event: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n"
