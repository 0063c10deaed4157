"""The API: its document, its parser of bodies, and how a route is declared."""

import json
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from django.http import Http404, HttpRequest
from ninja import NinjaAPI, Swagger
from ninja.errors import HttpError, ValidationError
from ninja.openapi.schema import OpenAPISchema
from ninja.parser import Parser

from todos.api import document
from todos.api.calls import Credential
from todos.api.problems import InvalidArgument, UnsupportedMediaType
from todos.api.schemas import Error
from todos.verbs import DRAIN, Verb

View = TypeVar("View", bound=Callable[..., Any])


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


class Api(NinjaAPI):
    """Its document is made once: it needs no credential, so it must cost next to nothing."""

    _made: OpenAPISchema | None = None

    def get_openapi_schema(self, **kwargs: Any) -> OpenAPISchema:
        if self._made is None:
            self._made = super().get_openapi_schema(**kwargs)
            document.complete(self._made)
        return self._made


api = Api(
    title="Switchboard",
    version="1",
    description=document.DESCRIPTION,
    urls_namespace="api",
    parser=Strict(),
    # The default would ask a server on the internet whether the document is valid.
    docs=Swagger(settings={"validatorUrl": None}),
)
for kind in (Exception, Http404, HttpError, ValidationError):
    api.add_exception_handler(kind, _raise)


def route(
    method: str,
    path: str,
    verb: Verb | None,
    answers: dict[int, Any],
    *refusals: int,
    name: str | None = None,
    extra: dict[str, Any] | None = None,
) -> Callable[[View], View]:
    """Declare a route: which verb it needs, what it answers, and which refusals are its own.

    `name` is its operation's, if that is not the verb's; `extra` goes into the document as it is.
    """
    may_refuse = {401, 422, 500, 503, *refusals} | ({403} if verb else set())
    if method == "POST":
        may_refuse |= {413, 415}

    def declare(view: View) -> View:
        summary, _, _ = (view.__doc__ or "").partition("\n")
        declared: View = api.api_operation(
            [method],
            path,
            auth=Credential(verb),
            response=answers | dict.fromkeys(sorted(may_refuse), Error),
            operation_id=name or verb,
            summary=summary.rstrip("."),
            tags=["draining a queue" if verb in (None, *DRAIN) else "granted on request"],
            openapi_extra=extra,
        )(view)
        return declared

    return declare
