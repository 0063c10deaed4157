"""One transition of one given todo for a request."""

from collections.abc import Callable
from typing import TypeVar

from django.http import HttpRequest

from todos import explanations, transitions
from todos.api.calls import call, owner
from todos.api.problems import Conflict
from todos.errors import EndpointInactive, TodoConflict
from todos.models import Endpoint

T = TypeVar("T")


async def act(
    request: HttpRequest,
    name: str,
    todo_id: str,
    work: Callable[[Endpoint], T],
    lease_token: str | None = None,
) -> T:
    """Run `work`, the transition of that name. If it is refused, say why, in words; or, if it is
    the repetition of a report, answer as the first time."""

    def explained(endpoint: Endpoint) -> T:
        try:
            return work(endpoint)
        except EndpointInactive:
            raise
        except TodoConflict as refusal:
            todo = transitions.repeated(name, endpoint, todo_id, lease_token)
            if todo is not None:
                return todo  # type: ignore[return-value]
            why = explanations.explain(
                refusal, name, endpoint, todo_id, owner=owner(endpoint), lease_token=lease_token
            )
            raise Conflict(why.message, state=why.state, attempt=why.attempt) from None

    return await call(request, explained)
