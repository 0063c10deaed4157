"""A todo's panel: what it waits for, who holds it, its ledger, and what may be done with it."""

from datetime import datetime
from typing import Any, cast

from django import forms
from django.http import HttpRequest, QueryDict

from todos import inputs
from todos.admin import panels
from todos.admin.actions import Operation
from todos.admin.operations import OPERATIONS
from todos.admin.shown import document, isolated, stamp, stamp_and_age, visible
from todos.board.permissions import todo_admin
from todos.errors import TodoConflict, TodoNotFound
from todos.models import Attempt, StatementTimestamp, Todo
from todos.states import DEAD, HELD_STATES, INTERRUPT_STATES

__all__ = ["OPERATIONS", "context_of", "form_of", "read", "unmoved"]


def read(todo_id: str) -> Todo:
    """A todo as it is at `now`. Raises TodoNotFound."""
    rows = Todo.objects.annotate(now=StatementTimestamp()).select_related("endpoint")
    todo = rows.filter(pk=inputs.todo_id(todo_id)).first()
    if todo is None:
        raise TodoNotFound
    return todo


def context_of(request: HttpRequest, todo: Todo) -> dict[str, Any]:
    now = cast(Any, todo).now
    result, cut = document(todo.result)
    return {
        "title": visible(todo.title),
        "original": todo,
        "seen": todo.updated_at.isoformat(),
        "facts": list(_facts(todo, now)),
        "wait": panels.wait(todo) if todo.state in INTERRUPT_STATES else None,
        "result": result if todo.result is not None else "",
        "result_title": _result_title(todo),
        "cut": cut,
        "ledger": panels.ledger(todo),
        "operations": todo_admin().permitted(request, todo.condition),
    }


def _facts(todo: Todo, now: datetime) -> list[tuple[str, Any]]:
    facts = [
        ("State", todo.condition),
        ("Queue", isolated(todo.queue)),
        ("Endpoint", isolated(todo.endpoint.name)),
        ("Attempt", f"{todo.attempt} of {todo.max_attempts}"),
    ]
    if todo.state in HELD_STATES:
        attempts = Attempt.objects.filter(todo=todo, seq=todo.attempts_total)
        claimant = attempts.values_list("claimant", flat=True).first()
        facts.append(("Held by", isolated(todo.owner or "—")))
        facts.append(("Claimant", isolated(claimant or "—")))
        facts.append(("Claimed", stamp_and_age(todo.claimed_at, now)))
        facts.append(("Lease until", stamp_and_age(todo.lease_expires_at, now)))
    if todo.next_retry_at:
        facts.append(("Next retry", stamp_and_age(todo.next_retry_at, now)))
    if todo.completed_at:
        facts.append(("Ended", stamp_and_age(todo.completed_at, now)))
    facts.append(("Created", stamp_and_age(todo.created_at, now)))
    return facts


def _result_title(todo: Todo) -> str:
    if todo.condition == DEAD:
        return "Why it is a dead letter"
    return "Result, as it was left last"


def form_of(operation: Operation, data: QueryDict | None = None) -> forms.Form | None:
    return operation.form(data) if operation.form else None


def unmoved(seen: str, was: str, key: str) -> None:
    """Raises TodoConflict if a todo has changed since the panel `seen` showed it.

    It is locked until the caller's transaction ends: what is done then is done to what was seen.
    """
    rows = Todo.objects.select_for_update(no_key=True).defer("payload", "result")
    todo = rows.filter(pk=key).first()
    if todo is None or todo.updated_at.isoformat() == seen:
        return
    if todo.condition == was:
        moved = f"it has moved on and is {todo.condition} again"
    else:
        moved = f"it is no longer {was or 'as you saw it'} but {todo.condition}"
    held = f", held by {visible(todo.owner)}" if todo.owner else ""
    message = f"{moved}{held}, since {stamp(todo.updated_at)}"
    raise TodoConflict(message, state=todo.state)
