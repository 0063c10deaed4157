"""Bodies of answers: from what a transition returned, or raised, to JSON."""

import json
import logging
import traceback
from datetime import UTC, datetime
from typing import Any

import pydantic
from django.core.exceptions import SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from ninja.errors import HttpError, ValidationError

from todos.api.problems import (
    Conflict,
    Internal,
    InvalidArgument,
    NotFound,
    Problem,
    Unauthenticated,
    Unavailable,
)
from todos.errors import EndpointInactive, InvalidInput, TodoConflict, TodoNotFound
from todos.models import Attempt, Todo
from todos.rows import FIELDS, LIGHT_FIELDS
from todos.selectors import Detail
from todos.states import State
from todos.threads import NoThread
from todos.transitions import Claim

logger = logging.getLogger(__name__)

MAX_NAME = 100
"""How much of a field's name is repeated, should a caller have made it up."""

ATTEMPT_FIELDS = (
    "seq",
    "attempt",
    "claimer_kind",
    "owner",
    "claimant",
    "claimed_at",
    "last_heartbeat_at",
    "lease_expires_at",
    "ended_at",
    "ended_from",
    "outcome",
    "disposition",
    "died",
    "summary",
    "summary_truncated",
    "artifact",
)


def moment(value: datetime | None) -> str | None:
    return None if value is None else value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def todo(row: Todo) -> dict[str, Any]:
    return _todo(row, FIELDS)


def listed(row: Todo) -> dict[str, Any]:
    """As `todo`, without the documents, which may be large."""
    return _todo(row, LIGHT_FIELDS)


def _todo(row: Todo, names: list[str]) -> dict[str, Any]:
    shown = {name: getattr(row, name) for name in names if name != "endpoint_id"}
    shown["dead_letter"] = row.state == State.FAILED and row.next_retry_at is None
    return shown


def attempt(row: Attempt) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ATTEMPT_FIELDS}


def detail(found: Detail) -> dict[str, Any]:
    return todo(found.todo) | {
        "reclaim_at": found.reclaim_at,
        "attempts": [attempt(row) for row in found.attempts],
    }


def claim(made: Claim) -> dict[str, Any]:
    shown = {
        "todo": todo(made.todo),
        "attempt_seq": made.attempt_seq,
        "attempts_total": made.attempts_total,
        "prior_attempts": [attempt(row) for row in made.prior_attempts],
    }
    return shown if made.lease_token is None else shown | {"lease_token": made.lease_token}


def ok(body: Any, status: int = 200) -> HttpResponse:
    text = json.dumps(body, default=_plain, ensure_ascii=False, separators=(",", ":"))
    return HttpResponse(text, status=status, content_type="application/json")


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return moment(value)
    return str(value)


def error(problem: Problem) -> HttpResponse:
    body = {"code": problem.code, "message": str(problem), **problem.extra}
    response = ok({"error": body}, problem.status)
    for name, value in problem.headers.items():
        response[name] = value
    return response


def problem_of(request: HttpRequest, raised: Exception) -> Problem:
    """What an exception is called in `problems`; what has no name there is logged: `internal`."""
    match raised:
        case Problem():
            return raised
        case HttpError() if isinstance(raised.__cause__, Exception):
            # So ninja wraps what the parser of a body raises.
            return problem_of(request, raised.__cause__)
        case EndpointInactive():
            return Unauthenticated()
        case TodoNotFound():
            return NotFound()
        case TodoConflict():
            return Conflict(str(raised), **({"state": raised.state} if raised.state else {}))
        case InvalidInput():
            return InvalidArgument(str(raised).replace(":", "", 1), field=raised.field)
        case ValidationError():
            return _invalid(raised.errors[0])
        case pydantic.ValidationError():
            return _invalid(raised.errors(include_url=False, include_input=False)[0])
        case NoThread():
            return Unavailable("none", "too many requests wait for the database; try again")
        case Http404():
            return NotFound("there is nothing at this address")
        case SuspiciousOperation():
            return InvalidArgument("the address cannot be read")
    # Without the exception's own words, which may quote what a caller sent.
    logger.error(
        "request %s failed: %s\n%s",
        request.request_id,  # type: ignore[attr-defined]
        type(raised).__name__,
        "".join(traceback.format_tb(raised.__traceback__)),
    )
    return Internal(id=request.request_id)  # type: ignore[attr-defined]


def repeatable(name: str) -> str:
    """The name of a field that a caller made up, fit to be shown."""
    return name if name.isprintable() and len(name) <= MAX_NAME else f"{name!a:.{MAX_NAME}}"


_WORDS = {
    "missing": "is required",
    "extra_forbidden": "is not a field of this request",
    "string_type": "must be a string",
    "string_unicode": "must not contain lone surrogates",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
}


def _invalid(found: Any) -> InvalidArgument:
    """The first complaint of pydantic, in the words of `todos.inputs`."""
    place = [part for part in found["loc"] if isinstance(part, str)]
    # `body` or `query`, then what the parameter is called here, then the field.
    name = place[-1] if len(place) > 2 or (place and place[0] != "body") else ""
    context = found.get("ctx", {})
    match found["type"]:
        case "greater_than_equal":
            problem = f"must be at least {context['ge']}"
        case "less_than_equal":
            problem = f"must be at most {context['le']}"
        case "string_too_short":
            problem = "must not be empty"
        case "string_too_long":
            problem = f"must have at most {context['max_length']} characters"
        case "too_short":
            problem = "must not be empty"
        case "string_pattern_mismatch" if name == "cursor":
            problem = "must be the next_cursor of a page"
        case "enum" | "literal_error":
            problem = f"must be {context['expected']}"
        case kind:
            problem = _WORDS.get(kind, "is not valid")
    if not name:
        return InvalidArgument(f"the body {problem}")
    shown = repeatable(name)
    return InvalidArgument(f"{shown} {problem}", field=shown)
