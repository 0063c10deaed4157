"""Why a transition was refused, in words, for the tenant that owns the todo."""

from datetime import datetime
from typing import NamedTuple

from todos import inputs
from todos.errors import TodoConflict, TodoNotFound
from todos.models import Attempt, Endpoint, Todo
from todos.states import HELD_STATES, INTERRUPT_STATES, TRANSITIONS, Outcome, State
from todos.transitions import token_hash

BY_HOLDERS = ("heartbeat", "complete", "fail", "release", "interrupt", "resume")
"""What is refused mostly because of something that happened meanwhile."""


class Explanation(NamedTuple):
    """What happened, and how the todo is now: seen after the refusal, so perhaps later than it."""

    message: str
    state: str
    attempt: int


def explain(
    refusal: TodoConflict,
    name: str,
    endpoint: Endpoint,
    todo_id: str,
    *,
    owner: str,
    lease_token: str | None = None,
) -> Explanation:
    """Explain why a transition of `todos.states` was refused. Raises TodoNotFound if it is gone."""
    todo = Todo.objects.filter(pk=inputs.todo_id(todo_id), endpoint=endpoint.pk).first()
    if todo is None:
        raise TodoNotFound
    if name in BY_HOLDERS:
        last = todo.attempts.filter(seq=todo.attempts_total).first()
        cause = _cause(name, todo, last, owner, lease_token)
        message = f"{cause}; the todo is {_now(todo)}"
    else:
        message = str(refusal)
    attempt = f"attempt {todo.attempt} of {todo.max_attempts}"
    return Explanation(f"{message}, {attempt}", todo.state, todo.attempt)


def _cause(name: str, todo: Todo, last: Attempt | None, owner: str, lease_token: str | None) -> str:
    """What became of the caller's attempt: that of its token, else the latest one."""
    mine = last
    if lease_token is not None:
        mine = todo.attempts.filter(lease_token_hash=token_hash(lease_token)).first()
    if mine is not None and mine.ended_at is not None:
        return _ended(mine)
    if last is None:
        return "nobody has claimed it"
    if todo.state in HELD_STATES and name != "resume" and todo.state in TRANSITIONS[name].sources:
        if todo.owner != owner:
            return "somebody else holds it"
        if lease_token is None:
            return "its claim is fenced, and the lease_token is missing"
        fenced = last.lease_token_hash is not None
        return f"the lease_token does not fit: its claim is {'' if fenced else 'not '}fenced"
    if name == "resume" and todo.state in INTERRUPT_STATES:
        return "somebody else holds it"
    return f"{name} needs a todo that is {' or '.join(TRANSITIONS[name].sources)}"


def _ended(attempt: Attempt) -> str:
    at = _moment(attempt.ended_at)
    match attempt.outcome:
        case Outcome.REAPED if attempt.ended_from in INTERRUPT_STATES:
            return f"the wait expired at {at}"
        case Outcome.REAPED | Outcome.LEASE_EXPIRED:
            return f"the lease expired at {_moment(attempt.lease_expires_at)}"
        case Outcome.CANCELED:
            return f"the todo was canceled at {at}"
        case Outcome.REVOKED:
            return f"the endpoint ended at {at}"
        case outcome:
            return f"its attempt was {outcome} at {at}"


def _now(todo: Todo) -> str:
    match todo.state:
        case State.PENDING if todo.attempts_total:
            return "pending again"
        case State.FAILED if todo.next_retry_at is not None:
            return f"failed, and tried again from {_moment(todo.next_retry_at)} on"
        case State.FAILED:
            return "failed for good, a dead letter"
        case State.INPUT_REQUIRED | State.AUTH_REQUIRED:
            return f"{todo.state} since {_moment(todo.interrupted_at)}"
        case state:
            return state


def _moment(at: datetime | None) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
