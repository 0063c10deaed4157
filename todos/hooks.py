"""Hints to whoever wants to follow the queue (the domain: Hooks).

They are sent after the outermost commit and never undo or fail a transition: the queue is the
ledger, and a lost hint costs latency, never work.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from uuid import UUID

from django.db import transaction
from django.dispatch import Signal

from todos.models import Endpoint, Todo
from todos.states import State

todo_transitioned = Signal()
"""Sent with `todo` as committed, `event`: its new state, or `created`, `transition`: the name of
what moved it, from `states.TRANSITIONS`, and `waited`: of a reclaimed wait, how long it had lasted,
in seconds; else None."""

todo_ready = Signal()
"""Sent with `todo` when it lands in `pending`, and `reason`: `created` or `requeued`."""

todos_transitioned = Signal()
"""Sent once for all `todos` of a commit, with `transition` and `waited`, by the id of each: a sweep
writes thousands a second, and a signal for each would cost it as much as the database does."""

endpoint_ended = Signal()
"""Sent with `endpoint_id` when an endpoint is revoked. One that expires ends by the clock."""


def announce(
    transition: str, todos: Sequence[Todo], waited: Mapping[str, float] | None = None
) -> None:
    """Send the hooks of these todos once the current transaction, if any, has committed."""
    transaction.on_commit(partial(_send, transition, todos, waited or {}))


def announce_end(endpoint_id: UUID) -> None:
    """As `announce`, of an endpoint."""
    transaction.on_commit(partial(endpoint_ended.send_robust, Endpoint, endpoint_id=endpoint_id))


def _send(transition: str, todos: Sequence[Todo], waited: Mapping[str, float]) -> None:
    todos_transitioned.send_robust(Todo, todos=todos, transition=transition, waited=waited)
    if not (todo_transitioned.has_listeners(Todo) or todo_ready.has_listeners(Todo)):
        return
    created = transition == "create"
    for todo in todos:
        event = "created" if created else todo.state
        todo_transitioned.send_robust(
            Todo, todo=todo, event=event, transition=transition, waited=waited.get(todo.pk)
        )
        if todo.state == State.PENDING:
            reason = "created" if created else "requeued"
            todo_ready.send_robust(Todo, todo=todo, reason=reason)
