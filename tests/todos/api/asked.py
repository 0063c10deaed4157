"""Every route: the verb it needs, and a request to it that is well formed."""

from typing import Any, NamedTuple

from todos.verbs import Verb


class Asked(NamedTuple):
    """A request; `{id}` in its path stands for a todo's."""

    verb: Verb | None
    method: str
    path: str
    body: dict[str, Any] | None = None


ON_A_TODO = {
    "get": Asked(Verb.GET, "GET", "todos/{id}"),
    "claim": Asked(Verb.CLAIM, "POST", "todos/{id}/claim", {}),
    "heartbeat": Asked(Verb.HEARTBEAT, "POST", "todos/{id}/heartbeat", {}),
    "complete": Asked(Verb.COMPLETE, "POST", "todos/{id}/complete", {"result": 1}),
    "fail": Asked(Verb.FAIL, "POST", "todos/{id}/fail", {"result": 1}),
    "release": Asked(Verb.RELEASE, "POST", "todos/{id}/release", {}),
    "interrupt": Asked(Verb.INTERRUPT, "POST", "todos/{id}/interrupt", {"state": "input-required"}),
    "resume": Asked(Verb.RESUME, "POST", "todos/{id}/resume", {"result": 1}),
    "cancel": Asked(Verb.CANCEL, "POST", "todos/{id}/cancel", {}),
    "reject": Asked(Verb.REJECT, "POST", "todos/{id}/reject", {}),
    "retry": Asked(Verb.RETRY, "POST", "todos/{id}/retry", {}),
}

ELSE = {
    "events": Asked(Verb.EVENTS, "GET", "events"),
    "whoami": Asked(None, "GET", "whoami"),
    "list": Asked(Verb.LIST, "GET", "todos"),
    "create": Asked(Verb.CREATE, "POST", "todos", {"queue": "inbox", "title": "letter"}),
    "claim_next": Asked(Verb.CLAIM, "POST", "todos/claim_next", {}),
}

EVERY = ELSE | ON_A_TODO
WITH_A_BODY = {name: asked for name, asked in EVERY.items() if asked.body is not None}
