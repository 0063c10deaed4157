"""`/board/stream`: an open board hears what has changed, as server-sent events.

Each stream remembers which snapshot its page shows and sends the difference to the latest. Between
two of them it holds neither a thread nor a database connection.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import SyncToAsync
from django.conf import settings
from django.contrib import admin
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.db import connections
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from settings_app import reading
from todos.board import channels
from todos.board.filters import filters_of
from todos.board.lanes import Filters
from todos.board.permissions import may_look
from todos.errors import InvalidInput

CHECK_SECONDS = 10.0
"""How often it is asked anew whether this session may still look; also the heartbeat."""


async def stream(request: HttpRequest) -> HttpResponseBase:
    if request.method not in ("GET", "HEAD"):
        return HttpResponse(status=405, headers={"Allow": "GET, HEAD"})
    key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    if not await asyncio.to_thread(_allowed, key):
        return HttpResponse("You are not logged in, or may not look at todos.", status=403)
    try:
        filters = filters_of(request.GET)
    except InvalidInput as error:
        return HttpResponse(str(error), status=400)
    if request.method == "HEAD":
        return HttpResponse()
    retry = await asyncio.to_thread(_retry_ms)
    _let_the_thread_go()
    return StreamingHttpResponse(
        _events(filters, key, retry),
        content_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _events(filters: Filters, key: str | None, retry: int) -> AsyncIterator[str]:
    yield f"retry: {retry}\n\n"
    clock = asyncio.get_running_loop().time
    check_at = clock() + CHECK_SECONDS
    shown = None
    async with channels.follow(filters) as channel:
        # A newcomer to others' channel is not to wait for its next look.
        look = -1 if channel.looks else 0
        while True:
            try:
                async with asyncio.timeout_at(check_at):
                    look = await channel.look_after(look)
            except TimeoutError:
                if not await asyncio.to_thread(_allowed, key):
                    yield _event("end", {})
                    return
                check_at = clock() + CHECK_SECONDS
                yield ": still here\n\n"
                continue
            if channel.problem or channel.snapshot is None:
                yield _event("problem", {})
            else:
                change = channel.snapshot.since(shown)
                shown = channel.snapshot
                yield _event("change", change)


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n"


def _allowed(key: str | None) -> bool:
    """Whether this session's user may look, by the rows as they are now."""
    request = HttpRequest()
    request.session = SessionStore(key)
    try:
        request.user = get_user(request)
        return admin.site.has_permission(request) and may_look(request)
    finally:
        connections.close_all()


def _retry_ms() -> int:
    try:
        return reading.sse_retry_ms()
    finally:
        connections.close_all()


def _let_the_thread_go() -> None:
    """Django keeps a thread for a request's synchronous parts until its response has ended.

    A stream's ends after hours, and 200 of them would keep as many. If one is needed after all,
    another is made.
    """
    context = SyncToAsync.thread_sensitive_context.get(None)
    if context is not None and (
        executor := SyncToAsync.context_to_thread_executor.pop(context, None)
    ):
        executor.shutdown(wait=False)
