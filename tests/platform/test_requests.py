"""Each request has an id, and one line in the log that says what it did."""

import asyncio
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from switchboard.requests import Application, Message, Receive, RequestLog, Scope, Send
from tests.factories import make_claimed, make_endpoint
from todos import endpoints, tracing, transitions
from todos.errors import TodoConflict

logger = logging.getLogger("todos.anything")

MADE = r"[0-9a-f]{16}"


class Answer:
    def __init__(self) -> None:
        self.messages: list[Message] = []

    async def send(self, message: Message) -> None:
        self.messages.append(message)

    @property
    def status(self) -> int:
        status: int = self.messages[0]["status"]
        return status

    @property
    def ids(self) -> list[str]:
        return [v.decode() for k, v in self.messages[0]["headers"] if k == b"x-request-id"]


def ask(
    application: Application,
    *,
    path: str = "/path",
    method: str = "GET",
    query: bytes = b"",
    request_id: bytes | None = None,
) -> Answer:
    headers = [] if request_id is None else [(b"x-request-id", request_id)]
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query,
        "headers": [(b"host", b"localhost"), *headers],
    }

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    answer = Answer()
    asyncio.run(RequestLog(application)(scope, receive, answer.send))
    return answer


async def ok(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture(autouse=True)
def _hear(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return LinesOf(caplog)


class LinesOf(list[str]):
    """The request lines so far, read when they are asked for."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog

    def __iter__(self) -> Iterator[str]:
        records = self._caplog.records
        return iter([r.getMessage() for r in records if r.name == "switchboard.requests"])


def only(lines: list[str]) -> str:
    (line,) = lines
    return line


@contextmanager
def serving(request_id: str = "abc") -> Iterator[tracing.Request]:
    request = tracing.Request(request_id)
    token = tracing.enter(request)
    yield request
    tracing.leave(token)


@pytest.mark.parametrize("given", [b"a", b"ABC-1_2.3", b"x" * 64])
def test_an_id_of_the_client_is_taken_and_returned(given: bytes) -> None:
    assert ask(ok, request_id=given).ids == [given.decode()]


@pytest.mark.parametrize("given", [b"", b"x" * 65, b"a b", b"a=b", b"a\nb", b"a\n", "é".encode()])
def test_any_other_id_is_replaced(given: bytes) -> None:
    (made,) = ask(ok, request_id=given).ids
    assert re.fullmatch(MADE, made)


def test_without_one_each_request_gets_its_own() -> None:
    made = {ask(ok).ids[0] for _ in range(10)}
    assert len(made) == 10
    assert all(re.fullmatch(MADE, each) for each in made)


def test_a_request_is_one_line(lines: list[str]) -> None:
    ask(ok, method="POST", path="/api/todos", query=b"token=secret")
    assert re.fullmatch(r"request method=POST path=/api/todos status=200 ms=\d+\.\d", only(lines))


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("/a b", "/a%20b"),
        ("/a\nforged", "/a%0Aforged"),
        ("/x status=200 who=user:1", "/x%20status%3D200%20who%3Duser%3A1"),
        ("/é\u202e", "/%C3%A9%E2%80%AE"),
        ("/\udc80", "/%3F"),
        ("", "/"),
        ("/" + "é" * 1000, ("/" + "%C3%A9" * 100)[:500]),
    ],
)
def test_a_path_cannot_pass_for_another_key(path: str, written: str, lines: list[str]) -> None:
    ask(ok, path=path)
    assert f"path={written} status=200 ms=" in only(lines)


def test_nor_can_a_method(lines: list[str]) -> None:
    ask(ok, method="GET status=200")
    assert "method=? path=" in only(lines)


def test_a_client_that_left_before_the_answer_is_499(lines: list[str]) -> None:
    async def leaves(scope: Scope, receive: Receive, send: Send) -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        ask(leaves)
    assert "status=499" in only(lines)


def test_a_stream_has_its_line_when_it_ends(lines: list[str]) -> None:
    async def streams(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"1", "more_body": True})
        assert list(lines) == []
        logger.info("in the stream %s", tracing.request_id())
        await send({"type": "http.response.body", "body": b"2"})

    ask(streams)
    assert "status=200" in only(lines)


def test_an_error_outside_every_handler_is_a_500_with_the_id(
    lines: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("out of order")

    answer = ask(fails, request_id=b"abc")
    assert (answer.status, answer.ids) == (500, ["abc"])
    assert answer.messages[1]["body"] == b"internal error, request abc\n"
    failure, line = lines
    assert failure == "a request failed outside its handler"
    assert "status=500" in line
    assert "RuntimeError: out of order" in caplog.text


def test_an_answer_that_breaks_off_is_not_made_whole() -> None:
    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        await ok(scope, receive, send)
        raise RuntimeError("out of order")

    with pytest.raises(RuntimeError):
        ask(fails)


def test_the_id_reaches_a_worker_thread_and_no_further() -> None:
    seen: dict[str, str] = {}

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        seen["task"] = tracing.request_id()
        seen["sync_to_async"] = await sync_to_async(tracing.request_id)()
        own = sync_to_async(tracing.request_id, thread_sensitive=False)
        seen["own thread"] = await own()
        seen["to_thread"] = await asyncio.to_thread(tracing.request_id)
        await ok(scope, receive, send)

    ask(application, request_id=b"abc")
    assert seen == dict.fromkeys(["task", "sync_to_async", "own thread", "to_thread"], "abc")
    assert tracing.request_id() == ""
    assert tracing.current() is None


def test_requests_at_the_same_time_keep_their_ids_apart() -> None:
    seen: dict[str, str] = {}

    async def both() -> None:
        meeting = asyncio.Barrier(2)

        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            await meeting.wait()
            seen[scope["path"]] = await asyncio.to_thread(tracing.request_id)

        async def one(name: str) -> None:
            scope: dict[str, Any] = {"type": "http", "method": "GET", "path": name}
            scope["headers"] = [(b"x-request-id", name.encode())]
            await RequestLog(application)(scope, receives_nothing, sends_nothing)

        await asyncio.gather(one("first"), one("second"))

    async def receives_nothing() -> Message:
        raise AssertionError

    async def sends_nothing(message: Message) -> None:
        raise AssertionError

    asyncio.run(both())
    assert seen == {"first": "first", "second": "second"}


@pytest.mark.django_db(transaction=True)
def test_a_request_names_the_transitions_that_it_committed() -> None:
    endpoint = make_endpoint(queues=["inbox"])
    with serving() as request:
        todo, _ = transitions.create(endpoint, queue="inbox", title="secret title")
        transitions.claim(endpoint, todo.pk, owner="ada")
        transitions.heartbeat(endpoint, todo.pk, owner="ada")
        with pytest.raises(TodoConflict):
            transitions.complete(endpoint, todo.pk, owner="eve")
        transitions.complete(endpoint, todo.pk, owner="ada")
    assert request.did == f"create:{todo.pk},claim:{todo.pk},complete:{todo.pk}"


@pytest.mark.django_db(transaction=True)
def test_of_many_transitions_the_first_hundred_are_named() -> None:
    endpoint = make_endpoint(queues=["inbox"])
    for _ in range(103):
        transitions.create(endpoint, queue="inbox", title="work")
    with serving() as request:
        endpoints.revoke(endpoint)
    *named, more = request.did.split(",")
    assert len(named) == tracing.MAX_MOVES
    assert all(re.fullmatch(r"revoke_endpoint:td_[0-9a-f-]{36}", each) for each in named)
    assert more == "+3"


@pytest.mark.django_db(transaction=True)
def test_outside_a_request_nothing_is_remembered() -> None:
    make_claimed()
    assert tracing.current() is None


def test_the_line_says_who_and_what(lines: list[str]) -> None:
    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        request = tracing.current()
        assert request
        request.who = "endpoint:7"
        request.note("reclaim now", "td_1")
        await ok(scope, receive, send)

    ask(application)
    assert only(lines).endswith(" who=endpoint:7 did=reclaim_now:td_1")
