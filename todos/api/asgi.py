"""The API as an ASGI application of its own: no session, no cookie, and no thread of a middleware.

A request is read whole, up to its bound, answered by the view that Django's URLs name, and what the
view raises becomes an error of `problems`. If the client goes away, its request is cancelled.
"""

import asyncio
import contextlib
import io
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, cast

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest, get_script_prefix
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import resolve, set_script_prefix
from ninja.errors import HttpError, ValidationError

from todos import tracing
from todos.api import answers
from todos.api.calls import allowed
from todos.api.events import EventStream
from todos.api.problems import Forbidden, InvalidArgument, MethodNotAllowed, TooLarge

MAX_BODY_BYTES = 256 * 1024
READ_AND_DROPPED = 4 * 1024 * 1024
"""How far a body that is too large is read, so that its sender gets to read the answer."""

TAKEN_SECONDS = 30.0
"""How long the client of a stream may take nothing of what it is sent."""

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class ClientGone(Exception):
    """The client went away before it had sent its request, or takes nothing of its stream."""


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    this_task = cast("asyncio.Task[None]", asyncio.current_task())
    watch: asyncio.Task[None] | None = None
    try:
        body = await _read(scope, receive)
        request = ASGIRequest(scope, io.BytesIO(body or b""))
        request.request_id = tracing.request_id() or uuid.uuid4().hex  # type: ignore[attr-defined]
        watch = asyncio.create_task(_cancel_when_gone(receive, this_task))
        response = await respond(request, too_large=body is None)
        await _send(response, send)
    except ClientGone:
        pass
    except asyncio.CancelledError:
        # Else it is the server that ends.
        if watch is None or not watch.done():
            raise
    finally:
        if watch is not None:
            watch.cancel()


async def respond(request: HttpRequest, *, too_large: bool = False) -> HttpResponseBase:
    """The answer of a request, whatever happens."""
    try:
        response = await _answer(request, too_large)
    except Exception as error:
        response = answers.error(answers.problem_of(request, error))
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


async def _answer(request: HttpRequest, too_large: bool) -> HttpResponseBase:
    if settings.SECURE_SSL_REDIRECT and not request.is_secure():
        # A redirect would have the client send its credential in the clear a second time.
        raise Forbidden("this API answers over https only")
    if too_large:
        raise TooLarge(f"the body must have at most {MAX_BODY_BYTES} bytes")
    set_script_prefix(get_script_prefix(request.scope))  # type: ignore[attr-defined]
    match = resolve(request.path_info)
    try:
        answer = match.func(request, *match.args, **match.kwargs)
        response = await answer if asyncio.iscoroutine(answer) else answer
    except (ValidationError, HttpError, InvalidArgument):
        # That it may ask at all comes first; what is wrong with the question, next.
        if hasattr(request, "asks"):
            await allowed(request)
        raise
    if match.url_name == "openapi-view":
        response["Content-Security-Policy"] = OF_THE_DOCS
    if response.status_code == MethodNotAllowed.status:
        problem = MethodNotAllowed()
        problem.headers["Allow"] = response["Allow"]
        raise problem
    return cast(HttpResponseBase, response)


async def _read(scope: Scope, receive: Receive) -> bytes | None:
    """The body; None if it is too large."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        part = message.get("body", b"")
        size += len(part)
        if size <= MAX_BODY_BYTES:
            parts.append(part)
        if size > READ_AND_DROPPED or not message.get("more_body", False):
            return b"".join(parts) if size <= MAX_BODY_BYTES else None


async def _cancel_when_gone(receive: Receive, task: "asyncio.Task[None]") -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    task.cancel()


async def _send(response: HttpResponseBase, send: Send) -> None:
    headers = [(k.lower().encode("ascii"), v.encode("latin-1")) for k, v in response.items()]
    start = {"type": "http.response.start", "status": response.status_code}
    if isinstance(response, EventStream):
        await send(start | {"headers": headers})
        await _send_events(response.events, send)
        return
    content = cast(HttpResponse, response).content
    if response.status_code == 204:
        headers = [(name, value) for name, value in headers if name != b"content-type"]
    else:
        headers.append((b"content-length", str(len(content)).encode()))
    await send(start | {"headers": headers})
    await send({"type": "http.response.body", "body": content})


async def _send_events(events: AsyncGenerator[str, None], send: Send) -> None:
    # Closed here, whatever ends it: otherwise that would be left to the garbage collection.
    async with contextlib.aclosing(events):
        async for text in events:
            part = {"type": "http.response.body", "body": text.encode(), "more_body": True}
            try:
                async with asyncio.timeout(TAKEN_SECONDS):
                    await send(part)
            except TimeoutError:
                raise ClientGone from None
    await send({"type": "http.response.body"})


OF_THE_DOCS = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'"
)
"""The one page: its script and style come from here, and it asks nobody else."""


def _headers() -> dict[str, str]:
    headers = {
        "Cache-Control": "no-store",
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }
    if settings.SECURE_HSTS_SECONDS:
        headers["Strict-Transport-Security"] = f"max-age={settings.SECURE_HSTS_SECONDS}"
    return headers


HEADERS = _headers()
