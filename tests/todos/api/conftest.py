"""Clients of the API: requests go through the whole ASGI application."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from django.db import connections

from switchboard.asgi import application
from tests.todos.api.asked import Asked
from todos import endpoints, threads
from todos.api.problems import STATUS
from todos.models import Endpoint
from todos.verbs import Verb

ALL = list(Verb)
THREADS = 4


@pytest.fixture(scope="session")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(autouse=True)
def _threads_of_the_test(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Of a test whose writes are committed, as in production. Of any other, one thread, which
    works in the test's transaction while the test waits for it."""
    marker = request.node.get_closest_marker("django_db")
    if marker is not None and marker.kwargs.get("transaction"):
        yield from _as_in_production(monkeypatch)
    else:
        request.getfixturevalue("db")
        yield from _on_the_same_connection(monkeypatch)


def _as_in_production(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    pool = ThreadPoolExecutor(THREADS)
    monkeypatch.setattr(threads, "executor", lambda: pool)
    monkeypatch.setattr(threads, "_pool_size", lambda: THREADS)
    yield
    # Each takes one of these, for none can be done before all have begun.
    barrier = threading.Barrier(THREADS)

    def close() -> None:
        barrier.wait(timeout=10)
        connections["default"].close()

    for done in [pool.submit(close) for _ in range(THREADS)]:
        done.result()
    pool.shutdown()


def _on_the_same_connection(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    ours = connections["default"]
    ours.inc_thread_sharing()

    def share() -> None:
        connections["default"] = ours

    pool = ThreadPoolExecutor(1, initializer=share)
    monkeypatch.setattr(threads, "executor", lambda: pool)
    monkeypatch.setattr(threads, "_in_doubt", lambda: False)
    monkeypatch.setattr(threads, "_give_back", lambda: None)
    yield
    pool.shutdown()
    ours.dec_thread_sharing()


class Worker:
    """An endpoint's client: `endpoint`, its credential, and requests that carry it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, endpoint: Endpoint, credential: str):
        self.loop = loop
        self.endpoint = endpoint
        self.credential = credential
        self.owner = f"agent:{endpoint.pk}"

    def request(self, method: str, path: str, **fields: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.credential}"} | fields.pop("headers", {})
        return self.loop.run_until_complete(_ask(method, path, headers=headers, **fields))

    def ask(self, asked: Asked, todo_id: str = "", **fields: Any) -> httpx.Response:
        body = {} if asked.body is None else {"json": asked.body}
        path = asked.path.format(id=todo_id)
        return self.request(asked.method, path, **body | fields)

    def get(self, path: str, **params: Any) -> httpx.Response:
        return self.request("GET", path, params=params)

    def post(self, path: str, **body: Any) -> httpx.Response:
        # As Python's own encoder does it, which can say what no UTF-8 can.
        headers = {"Content-Type": "application/json"}
        return self.request("POST", path, content=json.dumps(body), headers=headers)


async def _ask(method: str, path: str, **fields: Any) -> httpx.Response:
    transport = httpx.ASGITransport(application)
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
        return await client.request(method, f"/api/v1/{path}", **fields)


def trouble(answer: httpx.Response, status: int) -> dict[str, Any]:
    """What an answer of this status says is wrong: always in the one shape."""
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert list(body) == ["error"]
    error: dict[str, Any] = body["error"]
    assert STATUS[error["code"]] == status
    assert error["message"]
    assert error.keys() <= {"code", "message", "field", "state", "attempt", "outcome", "id"}
    return error


Hire = Callable[..., Worker]


@pytest.fixture
def hire(loop: asyncio.AbstractEventLoop, _threads_of_the_test: None) -> Hire:
    """Vends an endpoint, by default with all verbs, and returns its client."""

    def make(**fields: Any) -> Worker:
        fields = {"name": "desk", "queues": ["inbox", "reviews"], "verbs": ALL} | fields
        return Worker(loop, *endpoints.vend(**fields))

    return make


@pytest.fixture
def worker(hire: Hire) -> Worker:
    return hire()
