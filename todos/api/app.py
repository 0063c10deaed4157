"""The API: its document, its parser of bodies, and its routes."""

import json
from typing import Any, NoReturn

from django.http import Http404, HttpRequest
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.parser import Parser

from todos.api.problems import InvalidArgument, UnsupportedMediaType


class Strict(Parser):
    """JSON in UTF-8, announced as such, and nothing that only Python takes for JSON."""

    def parse_body(self, request: HttpRequest) -> Any:
        if request.content_type != "application/json" or request.headers.get("Content-Encoding"):
            raise UnsupportedMediaType
        try:
            return json.loads(request.body.decode(), parse_constant=_no_json)
        except (ValueError, RecursionError):
            raise InvalidArgument("the body is not JSON in UTF-8") from None


def _no_json(constant: str) -> NoReturn:
    raise ValueError(constant)


def _raise(request: HttpRequest, error: Any) -> NoReturn:
    """Left to `asgi.respond`, which alone turns errors into answers."""
    raise error


api = NinjaAPI(
    title="Switchboard",
    version="1",
    urls_namespace="api",
    parser=Strict(),
)
for kind in (Exception, Http404, HttpError, ValidationError):
    api.add_exception_handler(kind, _raise)
