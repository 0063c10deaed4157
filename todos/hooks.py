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
"""Sent with `todo` as committed, and `event`: its new state, or `created`."""

todo_ready = Signal()
"""Sent with `todo` when it lands in `pending`, and `reason`: `created` or `requeued`."""


def announce(todos: Sequence[Todo], *, event: str | None = None) -> None:
    """Send the hooks of these todos once the current transaction, if any, has committed."""
    transaction.on_commit(partial(_send, todos, event))


def _send(todos: Sequence[Todo], event: str | None) -> None:
    for todo in todos:
        todo_transitioned.send_robust(sender=Todo, todo=todo, event=event or todo.state)
        if todo.state == State.PENDING:
            reason = "created" if event == "created" else "requeued"
            todo_ready.send_robust(sender=Todo, todo=todo, reason=reason)
