"""Hints to whoever wants to follow the queue (the domain: Hooks).

They are sent after the outermost commit and never undo or fail a transition: the queue is the
ledger, and a lost hint costs latency, never work.
"""

from collections.abc import Sequence
from functools import partial

from django.db import transaction
from django.dispatch import Signal

from todos.models import Todo
from todos.states import State

todo_transitioned = Signal()
"""Sent with `todo` as committed, `event`: its new state, or `created`, and `transition`: the name
of what moved it, from `states.TRANSITIONS`."""

todo_ready = Signal()
"""Sent with `todo` when it lands in `pending`, and `reason`: `created` or `requeued`."""


def announce(transition: str, todos: Sequence[Todo]) -> None:
    """Send the hooks of these todos once the current transaction, if any, has committed."""
    transaction.on_commit(partial(_send, transition, todos))


def _send(transition: str, todos: Sequence[Todo]) -> None:
    created = transition == "create"
    for todo in todos:
        event = "created" if created else todo.state
        todo_transitioned.send_robust(Todo, todo=todo, event=event, transition=transition)
        if todo.state == State.PENDING:
            reason = "created" if created else "requeued"
            todo_ready.send_robust(Todo, todo=todo, reason=reason)
