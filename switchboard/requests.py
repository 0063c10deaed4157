"""Gives each request its id and its line in the log, whichever handler serves it."""

import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import quote

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

from todos import tracing

logger = logging.getLogger(__name__)

HEADER = b"x-request-id"
ACCEPTED = re.compile(rb"[A-Za-z0-9._-]{1,64}")
CLIENT_GONE = 499
"""What the log says for a request whose client left before there was an answer."""

_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._~-]{1,500}")
_METHOD = re.compile(r"[A-Z]{1,20}")

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class RequestLog:
    """ASGI around everything, since a Django middleware sees neither the end of a stream nor the
    requests that another handler serves, or that Django refuses before its middleware."""

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        began = time.perf_counter()
        request_id = id_of(scope)
        request = tracing.Request(request_id)
        header = (HEADER, request_id.encode())
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), header]}
            await send(message)

        token = tracing.enter(request)
        try:
            await self.application(scope, receive, answer)
        except Exception:
            logger.exception("a request failed outside its handler")
            if status:
                # The server breaks the connection off: nothing may look like a whole answer.
                raise
            await _refuse(answer)
        finally:
            line, fields = line_of(scope, status or CLIENT_GONE, began, request)
            logger.info(line, fields)
            tracing.leave(token)


def id_of(scope: Scope) -> str:
    """The client's X-Request-ID if it is one that a log can hold, else a new one."""
    for name, value in scope["headers"]:
        if name == HEADER:
            return value.decode() if ACCEPTED.fullmatch(value) else secrets.token_hex(8)
    return secrets.token_hex(8)


def line_of(
    scope: Scope, status: int, began: float, request: tracing.Request
) -> tuple[str, dict[str, Any]]:
    """No value holds a space or a quote: none can pass for another key. Without the query, which
    may hold anything."""
    method, path = scope["method"], scope["path"]
    if not _PLAIN_PATH.fullmatch(path):
        path = quote(path, safe="/", errors="replace")[:500]
    fields: dict[str, Any] = {
        "method": method if _METHOD.fullmatch(method) else "?",
        "path": path or "/",
        "status": status,
        "ms": round((time.perf_counter() - began) * 1000, 1),
    }
    line = "request method=%(method)s path=%(path)s status=%(status)d ms=%(ms).1f"
    if request.who:
        fields["who"] = request.who
        line += " who=%(who)s"
    if did := request.did:
        fields["did"] = did
        line += " did=%(did)s"
    return line, fields


async def _refuse(send: Send) -> None:
    await send(
        {
            "type": "http.response.start",
            "status": 500,
            "headers": [(b"content-type", b"text/plain; charset=utf-8")],
        }
    )
    body = f"internal error, request {tracing.request_id()}\n".encode()
    await send({"type": "http.response.body", "body": body})


@sync_and_async_middleware
def trace_user(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """`request.request_id` for Django's views, and the user's id for the log."""
    if iscoroutinefunction(get_response):

        async def asynchronous(request: HttpRequest) -> HttpResponse:
            _begin(request)
            response: HttpResponse = await get_response(request)
            _end(request)
            return response

        return asynchronous

    def synchronous(request: HttpRequest) -> HttpResponse:
        _begin(request)
        response: HttpResponse = get_response(request)
        _end(request)
        return response

    return synchronous


def _begin(request: HttpRequest) -> None:
    request.request_id = tracing.request_id()  # type: ignore[attr-defined]


def _end(request: HttpRequest) -> None:
    # Only if somebody has asked for the user: the log alone is worth no query.
    user = getattr(request, "_cached_user", None) or getattr(request, "_acached_user", None)
    if user is not None and user.is_authenticated:
        tracing.made_by(f"user:{user.pk}")
