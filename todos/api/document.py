"""What the OpenAPI document says beyond the routes: how to read it, examples, links."""

from typing import Any

from todos.api.problems import STATUS
from todos.verbs import Verb

DESCRIPTION = """\
A durable work queue. A worker claims a todo under a lease, keeps it with heartbeats, and ends it
with `complete`, `fail` or `release`; or it asks a question with `interrupt`, and goes on when
somebody answers with `resume`.

Every request carries the credential of an endpoint: `Authorization: Bearer <credential>`. An
endpoint grants some queues and some verbs; it sees its own todos only, and anybody else's look as
if they were not there.

Bodies are JSON of at most 256 KiB. Times are UTC, by the database's clock. Whatever is refused has
changed nothing and says why, always in the same shape; only `unavailable` and `internal` may leave
the outcome open. Repeating `complete`, `fail` or `release` with the same `lease_token` is safe: it
is answered as the first time. Repeating `create` is safe with an `idempotency_key`.
"""

ERRORS: dict[str, tuple[str, dict[str, Any]]] = {
    "unauthenticated": (
        "There is no credential, or it is wrong, revoked or expired.",
        {"message": "a valid credential is needed: Authorization: Bearer <credential>"},
    ),
    "forbidden": (
        "The verb or the queue is not granted; nothing was read or written.",
        {"message": "the credential does not grant retry"},
    ),
    "not_found": (
        "The endpoint has no such todo.",
        {"message": "the endpoint has no such todo"},
    ),
    "conflict": (
        "The todo is there, but in another state or held by somebody else.",
        {
            "message": "the wait expired at 2026-05-03T10:00:00Z; the todo is pending again, "
            "attempt 2 of 5",
            "state": "pending",
            "attempt": 2,
        },
    ),
    "invalid_argument": (
        "A field, or the body as a whole, is refused.",
        {"message": "title must not be empty", "field": "title"},
    ),
    "too_large": (
        "The body is larger than 256 KiB.",
        {"message": "the body must have at most 262144 bytes"},
    ),
    "rate_limited": (
        "Too many todos were created within a minute, or too many streams are open.",
        {"message": "the endpoint may create 600 todos a minute; try again in 1 s"},
    ),
    "unsupported_media_type": (
        "The body is not announced as application/json.",
        {"message": "the body must be application/json"},
    ),
    "method_not_allowed": (
        "The address answers another method.",
        {"message": "this address answers another method"},
    ),
    "unavailable": (
        "The database is away, or gave up on the statement (a deadlock, a timeout). `outcome` "
        "says whether it may have been done all the same.",
        {
            "message": "the database cannot be reached now, or was too busy; try again",
            "outcome": "none",
        },
    ),
    "internal": (
        "A fault of the server; its log has it under this id.",
        {
            "message": "something went wrong here; the log has it under this id",
            "id": "0f2c5e0c6d0b4a0f9d4d3f1c2b1a0908",
        },
    ),
}
"""What each code means, and an example of the rest of its body."""

HEADERS = {
    401: ("WWW-Authenticate", "Always `Bearer`.", "string"),
    429: ("Retry-After", "Seconds after which another try may pass.", "integer"),
    503: ("Retry-After", "Seconds after which another try may pass.", "integer"),
}

_ON_ONE_TODO = tuple(v for v in Verb if v not in (Verb.LIST, Verb.CREATE, Verb.EVENTS))
_MADE = {("create", "201"), ("create", "200"), ("claim_next", "200"), ("claim", "200")}


def complete(schema: dict[str, Any]) -> None:
    """Add to the document what its generator does not know."""
    codes = {status: code for code, status in STATUS.items()}
    for path in schema["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", ()):
                _without_null(parameter["schema"])
            for status, answer in operation["responses"].items():
                headers = {"X-Request-ID": _header("Under which the log has it.", "string")}
                if code := codes.get(int(status)):
                    answer["description"], rest = ERRORS[code]
                    content = answer["content"]["application/json"]
                    content["example"] = {"error": {"code": code, **rest}}
                    if header := HEADERS.get(int(status)):
                        name, words, kind = header
                        headers[name] = _header(words, kind)
                elif (operation["operationId"], str(status)) in _MADE:
                    answer["links"] = {str(verb): _link(verb) for verb in _ON_ONE_TODO}
                answer["headers"] = headers


def _without_null(schema: dict[str, Any]) -> None:
    """A parameter is there or not: in an address there is no null."""
    kinds = schema.pop("anyOf", [])
    for kind in kinds:
        if kind != {"type": "null"}:
            schema |= kind


def _header(words: str, kind: str) -> dict[str, Any]:
    return {"description": words, "schema": {"type": kind}}


def _link(verb: Verb) -> dict[str, Any]:
    return {"operationId": str(verb), "parameters": {"todo_id": "$response.body#/todo/id"}}
