"""One call of the database for a request: who asks, whether it may, and what it asks for."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.http import HttpRequest
from ninja.security.http import HttpAuthBase

from todos import endpoints, threads, tracing
from todos.api.problems import Forbidden, Unauthenticated, Unavailable
from todos.models import Endpoint
from todos.verbs import Verb

T = TypeVar("T")

READING = (None, Verb.LIST, Verb.GET, Verb.EVENTS)
"""What changes nothing, however it ends."""


class Credential(HttpAuthBase):
    """What a route asks for: a credential, and the verb that it must grant (None: any)."""

    openapi_scheme = "bearer"

    def __init__(self, verb: Verb | None) -> None:
        super().__init__()
        self.verb = verb

    async def __call__(self, request: HttpRequest) -> bool:
        scheme, _, credential = request.headers.get("Authorization", "").partition(" ")
        credential = credential.strip()
        if scheme.lower() != "bearer" or not credential:
            raise Unauthenticated
        # Only read here: it is looked up in the same call of the database as what is asked for.
        request.asks = credential, self.verb  # type: ignore[attr-defined]
        return True


def owner(endpoint: Endpoint) -> str:
    """The owner that claims over HTTP write."""
    return f"agent:{endpoint.pk}"


async def call(request: HttpRequest, work: Callable[[Endpoint], T]) -> T:
    """Run `work` for the endpoint that the request's credential stands for, if it may.

    It runs in a thread that may use the database, and raises what it raised. The credential is
    looked up each time, so whoever waits and calls again learns of a revocation.
    """
    credential, verb = request.asks  # type: ignore[attr-defined]
    return await threads.run(lambda: _call(credential, verb, work))


async def allowed(request: HttpRequest) -> None:
    """Raises what `call` would, short of any work."""
    await call(request, lambda endpoint: None)


def _call(credential: str, verb: Verb | None, work: Callable[[Endpoint], T]) -> T:
    statements = _Statements()
    try:
        endpoint = endpoints.authenticate(credential)
        if endpoint is None:
            raise Unauthenticated
        tracing.made_by(f"endpoint:{endpoint.pk}")
        if verb is not None and verb not in endpoint.verbs:
            raise Forbidden(f"the credential does not grant {verb}")
        statements.began = True
        with connection.execute_wrapper(statements):
            return work(endpoint)
    except (OperationalError, InterfaceError) as error:
        safe = verb in READING or statements.changed_nothing(error)
        raise Unavailable("none" if safe else "unknown") from error


class _Statements:
    """Whether a statement of the work may have been committed although the work failed."""

    def __init__(self) -> None:
        self.began = False
        self.sent = 0
        self.done = 0

    def __call__(self, execute: Callable[..., Any], *args: Any) -> Any:
        self.sent += 1
        result = execute(*args)
        self.done += 1
        return result

    def changed_nothing(self, error: DatabaseError | InterfaceError) -> bool:
        if not self.sent:
            return True
        # A transition is one statement; what comes after it found it committed.
        if self.done:
            return False
        state: str = getattr(error.__cause__, "sqlstate", None) or ""
        # What the server refused it has rolled back. Without its word, or when it shut down on
        # us, the commit may have come first.
        return bool(state) and not state.startswith(("08", "57P", "40003"))


def within(endpoint: Endpoint, *queues: str) -> None:
    """Raises Forbidden for a queue that is not granted."""
    for queue in queues:
        if queue not in endpoint.queues:
            raise Forbidden(f"the credential does not grant the queue {queue!r:.220}")
