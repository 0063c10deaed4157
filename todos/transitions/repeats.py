"""The answer to a report that comes a second time, because the first answer was lost."""

from datetime import timedelta

from todos import inputs
from todos.models import Attempt, Endpoint, Todo
from todos.states import Disposition, Outcome, State
from todos.transitions.worker import token_hash

OUTCOMES = {
    "complete": Outcome.COMPLETED,
    "fail": Outcome.FAILED,
    "release": Outcome.RELEASED,
}

_LEFT_AS = {
    Disposition.DONE: State.DONE,
    Disposition.RETRY_SCHEDULED: State.FAILED,
    Disposition.DEAD_LETTERED: State.FAILED,
    Disposition.REQUEUED: State.PENDING,
}


def repeated(name: str, endpoint: Endpoint, todo_id: str, lease_token: str | None) -> Todo | None:
    """The todo as the first `complete`, `fail` or `release` under this token left it.

    None: the token ended no attempt that way. A token is proof enough, since it fits one claim.
    """
    if lease_token is None or name not in OUTCOMES:
        return None
    attempt = (
        Attempt.objects.select_related("todo")
        .filter(
            todo=inputs.todo_id(todo_id),
            todo__endpoint=endpoint.pk,
            lease_token_hash=token_hash(lease_token),
            outcome=OUTCOMES[name],
        )
        .first()
    )
    return None if attempt is None else _as_left(attempt)


def _as_left(attempt: Attempt) -> Todo:
    """Others may have moved the todo since; its documents are shown as they are now."""
    todo, ended_at = attempt.todo, attempt.ended_at
    assert ended_at  # noqa: S101 -- it has an outcome
    assert attempt.disposition  # noqa: S101
    if todo.updated_at == ended_at:
        return todo
    disposition = Disposition(attempt.disposition)
    todo.state = _LEFT_AS[disposition]
    todo.owner = todo.lease_expires_at = todo.interrupted_at = None
    todo.claimed_at = attempt.claimed_at
    todo.attempt, todo.attempts_total = attempt.attempt, attempt.seq
    todo.updated_at = ended_at
    ended = disposition in (Disposition.DONE, Disposition.DEAD_LETTERED)
    todo.completed_at = ended_at if ended else None
    parked = disposition == Disposition.RETRY_SCHEDULED
    todo.next_retry_at = ended_at + backoff(attempt.attempt) if parked else None
    return todo


def backoff(attempt: int) -> timedelta:
    """How long a todo is parked after its attempt of this number: as `sql/fail.sql` says."""
    return timedelta(seconds=min(900, 30 * 2 ** min(attempt - 1, 5)))
