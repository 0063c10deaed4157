"""`GET events` inside: its comments, its end, and who may follow."""

import asyncio
from collections.abc import AsyncGenerator
from types import SimpleNamespace
from typing import Any

import pytest

from tests.todos.api.conftest import Hire, Worker
from todos import endpoints
from todos.api import events, streams
from todos.verbs import Verb


def stream_of(worker: Worker) -> AsyncGenerator[str, None]:
    request: Any = SimpleNamespace(asks=(worker.credential, Verb.EVENTS))
    slot = streams.Slot(str(worker.endpoint.pk))
    return events._stream(request, worker.endpoint, 1_234, slot)


async def _first(stream: AsyncGenerator[str, None], number: int) -> list[str]:
    read: list[str] = []
    async for text in stream:
        read.append(text)
        if len(read) == number:
            break
    await stream.aclose()
    return read


def test_comments_show_that_a_quiet_stream_lives(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "COMMENT_SECONDS", 0.05)
    read = worker.loop.run_until_complete(_first(stream_of(worker), 3))
    assert read == ["retry: 1234\n\n", ":\n\n", ":\n\n"]


def test_a_revocation_that_nobody_hinted_at_ends_a_stream_at_its_next_comment(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "COMMENT_SECONDS", 0.05)
    stream = stream_of(worker)

    async def begin() -> str:
        return await anext(stream)

    assert worker.loop.run_until_complete(begin()) == "retry: 1234\n\n"
    endpoints.revoke(worker.endpoint)
    read = worker.loop.run_until_complete(asyncio.wait_for(_first(stream, 100), 5))
    assert read[-1] == events.ENDED
    assert len(read) <= 3


def test_it_needs_its_verb(hire: Hire) -> None:
    answer = hire(verbs=[Verb.LIST]).get("events")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")


@pytest.mark.parametrize("seconds", [-1, 31, 1.5, "5", True, None])
def test_how_long_a_claim_may_wait(worker: Worker, seconds: Any) -> None:
    answer = worker.post("todos/claim_next", wait_seconds=seconds)
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == "wait_seconds"
