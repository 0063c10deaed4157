"""Clients of the API: requests go through the whole ASGI application."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from django.db import connections

from switchboard.asgi import application
from todos import endpoints, threads
from todos.models import Endpoint
from todos.verbs import Verb

ALL = list(Verb)


@pytest.fixture(scope="session")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(autouse=True)
def _threads_share_the_connection(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One thread, which works in the test's transaction while the test waits for it."""
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

    def get(self, path: str, **params: Any) -> httpx.Response:
        return self.request("GET", path, params=params)

    def post(self, path: str, **body: Any) -> httpx.Response:
        return self.request("POST", path, json=body)


async def _ask(method: str, path: str, **fields: Any) -> httpx.Response:
    transport = httpx.ASGITransport(application)
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
        return await client.request(method, f"/api/v1/{path}", **fields)


Hire = Callable[..., Worker]


@pytest.fixture
def hire(loop: asyncio.AbstractEventLoop, db: None) -> Hire:
    """Vends an endpoint, by default with all verbs, and returns its client."""

    def make(**fields: Any) -> Worker:
        fields = {"name": "desk", "queues": ["inbox", "reviews"], "verbs": ALL} | fields
        return Worker(loop, *endpoints.vend(**fields))

    return make


@pytest.fixture
def worker(hire: Hire) -> Worker:
    return hire()
