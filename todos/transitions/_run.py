"""Runs the statement of one transition and reads what it answers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from todos import hooks, inputs
from todos.errors import TodoConflict, TodoNotFound
from todos.models import Endpoint, Todo
from todos.rows import todo_from
from todos.sql import fetch_one
from todos.states import DEAD, HELD_STATES, PARKED, TRANSITIONS, State

TRIES = 20
"""How often a statement may meet a commit that it does not see: behind a lock that it waited for,
or in a unique index. A caller's REPEATABLE READ never sees it."""


class Found(NamedTuple):
    """What a statement found under its lock: `sql/fragments/found.sql`."""

    state: str
    parked: bool
    owner: str | None
    unseen: bool

    @property
    def condition(self) -> str:
        if self.state == State.FAILED:
            return PARKED if self.parked else DEAD
        return self.state


def scope(endpoint: Endpoint | None) -> str | None:
    """The tenant that a call is limited to; None for an operator."""
    return None if endpoint is None else str(inputs.endpoint_id(endpoint))


def owner_of(endpoint: Endpoint | None, owner: object) -> str | None:
    """Who calls: an operator needs no name, a worker does."""
    return (
        inputs.optional_label("owner", owner) if endpoint is None else inputs.label("owner", owner)
    )


def run(statement: str, params: dict[str, Any]) -> tuple[Found, Sequence[Any]]:
    """Run a statement until it has seen the ledger of the todo that it locked.

    Raises TodoNotFound if there is no such todo in the caller's scope.
    """
    for _ in range(TRIES):
        row = fetch_one(statement, params)
        if row is None:
            raise TodoNotFound
        found = Found(*row[:4])
        if not found.unseen:
            return found, row
    raise TodoConflict(
        f"the ledger of {params['id']} shows no open attempt: see `manage.py doctor`",
        state=found.state,
    )


def transition(name: str, params: dict[str, Any]) -> Todo:
    """Make one transition of one given todo, announce it, and return the committed row."""
    found, row = run(name.replace(" ", "_"), params)
    todo = todo_from(row)
    if todo is None:
        raise refusal(name, found, params.get("owner"))
    hooks.announce(name, [todo])
    return todo


def refusal(name: str, found: Found, owner: str | None) -> TodoConflict:
    """Why a transition was refused, from what its statement saw."""
    sources = TRANSITIONS[name].sources
    if found.condition not in sources:
        message = (
            f"{name} needs a todo that is {' or '.join(sources)}; this one is {found.condition}"
        )
    elif found.state in HELD_STATES and found.owner != owner:
        message = f"{name} is for its holder; this todo is held by someone else"
    else:
        message = f"{name} was refused: the lease token does not fit"
    return TodoConflict(message, state=found.state)
