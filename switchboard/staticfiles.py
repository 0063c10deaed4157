"""WhiteNoise, at home under ASGI.

As it comes, it is a synchronous middleware: every request would go through two more threads, and
every file would be announced in the log as an iterator that blocks.
"""

from collections.abc import Awaitable, Callable
from typing import cast

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware


class StaticFilesMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]
    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        super().__init__(get_response)
        self._asynchronous = iscoroutinefunction(get_response)
        if self._asynchronous:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self._asynchronous:
            return self._respond(request)
        return cast(HttpResponseBase, super().__call__(request))

    async def _respond(self, request: HttpRequest) -> HttpResponseBase:
        if self.autorefresh:
            found = await sync_to_async(self.find_file)(request.path_info)
        else:
            found = self.files.get(request.path_info)
        if found is None:
            return await cast(Awaitable[HttpResponseBase], self.get_response(request))
        return await sync_to_async(self._read, thread_sensitive=False)(found, request)

    def _read(self, found: object, request: HttpRequest) -> HttpResponse:
        """The files of an admin are small: whole, one costs less than its pieces."""
        streamed = self.serve(found, request)
        whole = HttpResponse(b"".join(streamed), status=streamed.status_code)
        streamed.close()
        whole.headers = streamed.headers
        return whole
