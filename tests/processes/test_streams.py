"""Streams and waiting claims of real web processes: what they cost, and what ends them."""

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import psutil
import psycopg
import pytest
import redis
from django.conf import LazySettings
from django.db import connection

from settings_app.models import Setting
from tests.factories import make_pending, make_waiting
from tests.processes.programs import (
    Program,
    Programs,
    database_url,
    own_broker,
    own_database,
    wait_until,
)
from todos import endpoints, selectors, transitions
from todos.api import asgi
from todos.feed.publisher import publisher
from todos.models import Attempt, Endpoint

pytestmark = pytest.mark.django_db(transaction=True)

STREAMS = 200
WAITERS = 500


@pytest.fixture
def programs(tmp_path: Path, settings: LazySettings) -> Iterator[Programs]:
    with own_broker() as broker:
        settings.REDIS_URL = broker.url
        publisher._forget()
        yield Programs(broker, tmp_path)
    publisher._forget()


class Desk:
    """A vended endpoint and its credential."""

    def __init__(self, **fields: Any) -> None:
        self.endpoint, self.credential = endpoints.vend(
            **{"name": "desk", "queues": ["inbox"]} | fields
        )

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.credential}"}

    def claim(self, site: str, **body: Any) -> httpx.Response:
        url = f"{site}/api/v1/todos/claim_next"
        return httpx.post(url, json=body, headers=self.headers, timeout=40, trust_env=False)

    @contextlib.contextmanager
    def stream(self, site: str) -> Iterator["Stream"]:
        """Open: its first line is there."""
        with (
            httpx.Client(timeout=40, trust_env=False) as client,
            client.stream("GET", f"{site}/api/v1/events", headers=self.headers) as response,
        ):
            stream = Stream(response)
            if response.status_code == 200:
                wait_until(lambda: stream.lines, "the first line", seconds=5)
            yield stream


class Stream:
    """What a stream has said, read by a thread."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.lines: list[str] = []
        self.ended = threading.Event()
        if response.status_code == 200:
            threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with contextlib.suppress(httpx.HTTPError, httpx.StreamError):
            for line in self.response.iter_lines():
                self.lines.append(line)
        self.ended.set()

    def events(self) -> list[tuple[str, dict[str, Any]]]:
        names = [line[7:] for line in self.lines if line.startswith("event: ")]
        data = [json.loads(line[6:]) for line in self.lines if line.startswith("data: ")]
        return list(zip(names, data, strict=False))


def background(call: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(call()), daemon=True)
    thread.start()
    return thread, answers


class Sessions:
    """How many sessions the database has, seen from one of them."""

    def __init__(self) -> None:
        self._session = psycopg.connect(database_url(), autocommit=True)

    def count(self) -> int:
        row = self._session.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend'"
        ).fetchone()
        assert row is not None
        return int(row[0])

    def close(self) -> None:
        self._session.close()


@pytest.fixture
def sessions() -> Iterator[Sessions]:
    sessions = Sessions()
    yield sessions
    sessions.close()


def memory(program: Program) -> int:
    return int(psutil.Process(program.pid).memory_info().rss)


def threads(program: Program) -> int:
    return int(psutil.Process(program.pid).num_threads())


class Crowd:
    """Many open requests to one process, on plain sockets."""

    def __init__(self, site: str) -> None:
        self.address = urlsplit(site)
        self.answers: list[bytes] = []

    @contextlib.asynccontextmanager
    async def open(self, number: int, request: Callable[[int], bytes]) -> AsyncIterator[None]:
        writers: list[asyncio.StreamWriter] = []
        readers = []
        for place in range(number):
            reader, writer = await asyncio.open_connection(self.address.hostname, self.address.port)
            writer.write(request(place))
            writers.append(writer)
            readers.append(asyncio.create_task(self._read(reader)))
        try:
            yield
        finally:
            for writer in writers:
                writer.close()
            for task in readers:
                task.cancel()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while part := await reader.read(65_536):
            self.answers.append(part)


def get_events(desk: Desk) -> bytes:
    return (
        f"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {desk.credential}\r\n\r\n"
    ).encode()


def post_claim(desk: Desk, seconds: int) -> bytes:
    body = json.dumps({"wait_seconds": seconds})
    return (
        "POST /api/v1/todos/claim_next HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {desk.credential}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


async def until(condition: Callable[[], object], what: str, seconds: float = 20) -> None:
    await asyncio.to_thread(wait_until, condition, what, seconds=seconds)


def test_a_stream_tells_of_the_endpoints_own_todos_alone(programs: Programs) -> None:
    Setting.objects.create(key="sse_retry_ms", value="1234")
    mine, foreign = Desk(), Desk()
    with programs.web() as (_, site), mine.stream(site) as stream:
        assert stream.response.headers["content-type"].startswith("text/event-stream")
        assert stream.response.headers["cache-control"] == "no-store"
        assert stream.lines[0] == "retry: 1234"
        make_pending(endpoint=foreign.endpoint, title="secret")
        todo = make_pending(endpoint=mine.endpoint)
        wait_until(stream.events, "the first event", seconds=2)
        transitions.claim(mine.endpoint, todo.pk, owner="somebody")
        wait_until(lambda: len(stream.events()) == 2, "both events", seconds=2)
    about = {"id": todo.pk, "queue": "inbox"}
    assert stream.events() == [
        ("todo", about | {"state": "pending", "reason": "created"}),
        ("todo", about | {"state": "claimed", "reason": None}),
    ]


def test_a_revocation_ends_streams_and_waiting_claims_at_once(programs: Programs) -> None:
    revoked, other = Desk(), Desk()
    with (
        programs.web() as (_, site),
        revoked.stream(site) as ends,
        other.stream(site) as goes_on,
    ):
        thread, answers = background(partial(revoked.claim, site, wait_seconds=30))
        endpoints.revoke(revoked.endpoint)
        assert ends.ended.wait(2)
        thread.join(timeout=3)
        assert [answer.status_code for answer in answers] == [401]
        assert not goes_on.ended.is_set()
        with revoked.stream(site) as refused:
            assert refused.response.status_code == 401


def test_the_end_of_a_credential_ends_streams_and_waiting_claims(programs: Programs) -> None:
    with programs.web() as (_, site):
        expires_at = selectors.now() + timedelta(seconds=3)
        desk = Desk(expires_at=expires_at)
        with desk.stream(site) as ends:
            thread, answers = background(partial(desk.claim, site, wait_seconds=30))
            assert ends.ended.wait(5)
            thread.join(timeout=3)
            assert [answer.status_code for answer in answers] == [401]
        assert selectors.now() >= expires_at


def test_an_endpoint_has_at_most_twenty_streams_in_all_processes_together(
    programs: Programs,
) -> None:
    desk = Desk()
    with programs.web() as (_, first), programs.web() as (_, second):
        with contextlib.ExitStack() as open_streams:
            for number in range(20):
                site = first if number % 2 else second
                stream = open_streams.enter_context(desk.stream(site))
                assert stream.response.status_code == 200
            for site in (first, second):
                with desk.stream(site) as refused:
                    assert refused.response.status_code == 429
                    assert int(refused.response.headers["retry-after"]) > 0
            with Desk().stream(first) as other:
                assert other.response.status_code == 200
            programs.broker.halt()
            with desk.stream(first) as let_in:
                assert let_in.response.status_code == 200
            programs.broker.start()
        wait_until(lambda: _can_open(desk, first), "room again", seconds=5)


def _can_open(desk: Desk, site: str) -> bool:
    with desk.stream(site) as stream:
        return stream.response.status_code == 200


def test_a_stream_outlives_restarts_of_redis_and_of_postgresql(
    programs: Programs, tmp_path: Path
) -> None:
    with own_database(tmp_path) as database:
        Setting.objects.create(key="sse_retry_ms", value="2000")
        desk = Desk()
        with programs.web() as (_, site), desk.stream(site) as stream:
            programs.broker.halt()
            make_pending(endpoint=desk.endpoint)
            programs.broker.start()
            wait_until(lambda: ("resync", {}) in stream.events(), "the resync", seconds=2)
            connection.close()
            database.restart()
            programs.broker.halt()
            programs.broker.start()
            told = len(stream.events())
            wait_until(lambda: len(stream.events()) > told, "another resync", seconds=2)
            assert not stream.ended.is_set()
            assert desk.claim(site).status_code == 200


def test_a_worker_of_another_process_is_heard_of_by_who_waits(programs: Programs) -> None:
    desk = Desk()
    wait = make_waiting(endpoint=desk.endpoint, age=timedelta(hours=25))
    with programs.worker(), programs.web() as (_, site), desk.stream(site) as stream:
        thread, answers = background(lambda: desk.claim(site, wait_seconds=30))
        programs.send_tick()
        thread.join(timeout=10)
        assert answers[0].json()["todo"]["id"] == wait.pk
        wait_until(lambda: len(stream.events()) == 2, "both events", seconds=2)
    assert [data["reason"] for _, data in stream.events()] == ["requeued", None]


def test_two_hundred_streams_leave_nothing_behind(programs: Programs, sessions: Sessions) -> None:
    desks = [Desk() for _ in range(STREAMS // 20)]

    async def crowd(program: Program, site: str) -> tuple[int, int]:
        before = connections(program)
        many = Crowd(site)
        async with many.open(STREAMS, lambda n: get_events(desks[n % len(desks)])):
            await until(lambda: b"".join(many.answers).count(b"retry:") == STREAMS, "all open")
            meanwhile = sessions.count(), threads(program)
        await until(lambda: connections(program) <= before, "all closed")
        await until(lambda: not open_streams(programs), "all given back")
        return meanwhile

    with programs.web() as (program, site):
        # What a process keeps anyway is made the first time: its threads, their connections.
        for _ in range(2):
            asyncio.run(crowd(program, site))
        before = sessions.count(), threads(program)
        settled = memory(program)
        assert no_more(asyncio.run(crowd(program, site)), before)
        assert no_more((sessions.count(), threads(program)), before)
        assert memory(program) - settled < 4_000_000


def open_streams(programs: Programs) -> list[bytes]:
    with redis.Redis.from_url(programs.broker.url) as client:
        return list(client.scan_iter("switchboard:streams:*"))


def test_five_hundred_who_wait_cost_no_more_connections_than_one(
    programs: Programs, sessions: Sessions
) -> None:
    desk = Desk()

    async def one_and_many(program: Program, site: str) -> None:
        plain, one, many = Crowd(site), Crowd(site), Crowd(site)
        async with plain.open(60, lambda _: post_claim(desk, 0)):
            await until(lambda: len(plain.answers) >= 60, "sixty who do not wait")
        async with one.open(1, lambda _: post_claim(desk, 30)):
            await quiet(program)
            of_one = sessions.count(), threads(program)
            async with many.open(WAITERS, lambda _: post_claim(desk, 30)):
                await quiet(program)
                assert connections(program) > WAITERS
                assert no_more((sessions.count(), threads(program)), of_one)
                assert many.answers == one.answers == []
            await until(lambda: connections(program) < WAITERS, "the many gone")
            todo = await asyncio.to_thread(_in_a_thread, desk.endpoint)
            await until(lambda: todo.encode() in b"".join(one.answers), "the claim", 2)

    with programs.web() as (program, site):
        asyncio.run(one_and_many(program, site))
    assert Attempt.objects.count() == 1


def no_more(now: tuple[int, int], before: tuple[int, int]) -> bool:
    """Neither sessions nor threads."""
    return now[0] <= before[0] and now[1] <= before[1]


def _in_a_thread(endpoint: Endpoint) -> str:
    try:
        return str(make_pending(endpoint=endpoint).pk)
    finally:
        connection.close()


def connections(program: Program) -> int:
    return len(psutil.Process(program.pid).net_connections(kind="tcp"))


async def quiet(program: Program) -> None:
    """Whatever it was asked for, it has done, and only waits."""
    process = psutil.Process(program.pid)
    before = -1.0
    while (now := process.cpu_times().user) - before > 0.02:
        before = now
        await asyncio.sleep(0.5)


def test_a_stopping_server_waits_for_no_stream(programs: Programs) -> None:
    desk = Desk()
    with programs.web() as (program, site), desk.stream(site) as stream:
        began = time.monotonic()
        program.terminate()
        assert time.monotonic() - began < 6
        assert stream.ended.wait(2)
    assert "Traceback" not in program.log


def test_who_takes_nothing_of_its_stream_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi, "TAKEN_SECONDS", 0.1)
    closed = []

    async def events() -> AsyncGenerator[str, None]:
        try:
            yield "event: todo\n\n"
        finally:
            closed.append(True)

    async def stuck(_: dict[str, Any]) -> None:
        await asyncio.Event().wait()

    with pytest.raises(asgi.ClientGone):
        asyncio.run(asgi._send_events(events(), stuck))
    assert closed == [True]
