"""A conflict says in words what happened."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.factories import lapse, make, make_claimed, make_pending, make_waiting
from tests.todos.api.asked import ON_A_TODO
from tests.todos.api.conftest import Worker, trouble
from todos import reaper, transitions
from todos.models import Attempt, Todo
from todos.states import DEAD, PARKED, State


def stamp(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def refused(worker: Worker, verb: str, todo: Todo, **body: Any) -> dict[str, Any]:
    error = trouble(worker.post(f"todos/{todo.pk}/{verb}", **body), 409)
    assert error["code"] == "conflict"
    return error


def test_the_wait_has_expired(worker: Worker) -> None:
    todo = make_waiting(
        endpoint=worker.endpoint, owner=worker.owner, attempt=2, age=timedelta(hours=25)
    )
    reaper.tick()
    ended = Attempt.objects.get(todo=todo, seq=2).ended_at
    for verb in ("complete", "heartbeat", "resume"):
        assert refused(worker, verb, todo) == {
            "code": "conflict",
            "message": f"the wait expired at {stamp(ended)}; the todo is pending again, "
            "attempt 2 of 5",
            "state": "pending",
            "attempt": 2,
        }


def test_the_lease_has_expired(worker: Worker) -> None:
    todo = lapse(make_claimed(endpoint=worker.endpoint, owner=worker.owner), timedelta(hours=1))
    until = todo.lease_expires_at
    reaper.tick()
    message = refused(worker, "complete", todo)["message"]
    expected = f"the lease expired at {stamp(until)}; the todo is pending again, attempt 1 of 5"
    assert message == expected


def test_somebody_else_holds_it(worker: Worker) -> None:
    todo = make_claimed(endpoint=worker.endpoint, owner="ada")
    message = refused(worker, "release", todo)["message"]
    assert message == "somebody else holds it; the todo is claimed, attempt 1 of 5"
    waiting = make_waiting(endpoint=worker.endpoint, owner="ada")
    assert refused(worker, "resume", waiting)["message"].startswith("somebody else holds it; ")


def test_it_was_canceled(worker: Worker) -> None:
    todo = make_claimed(endpoint=worker.endpoint, owner=worker.owner)
    todo = transitions.cancel(worker.endpoint, todo.pk)
    message = refused(worker, "heartbeat", todo)["message"]
    at = stamp(todo.completed_at)
    assert message == f"the todo was canceled at {at}; the todo is canceled, attempt 1 of 5"


def test_a_wait_has_no_heartbeat(worker: Worker) -> None:
    todo = make_waiting(endpoint=worker.endpoint, owner=worker.owner)
    error = refused(worker, "heartbeat", todo)
    since = stamp(todo.interrupted_at)
    assert error["message"] == (
        "heartbeat needs a todo that is claimed; "
        f"the todo is input-required since {since}, attempt 1 of 5"
    )
    assert error["state"] == "input-required"


@pytest.mark.parametrize(
    ("verb", "condition", "words"),
    [
        ("complete", State.PENDING, "nobody has claimed it; the todo is pending, attempt 0 of 5"),
        ("complete", PARKED, "its attempt was failed at "),
        ("complete", DEAD, "the todo is failed for good, a dead letter, attempt 1 of 1"),
        ("claim", State.DONE, "the todo is done; claimable are pending todos"),
        ("cancel", State.DONE, "cancel needs a todo that is pending"),
        ("reject", State.CLAIMED, "reject needs a todo that is pending; this one is claimed"),
        ("retry", State.PENDING, "retry needs a todo that is failed"),
    ],
)
def test_it_is_in_another_state(verb: str, condition: str, words: str, worker: Worker) -> None:
    todo = make(condition, endpoint=worker.endpoint)
    error = trouble(worker.ask(ON_A_TODO[verb], todo.pk), 409)
    assert words in error["message"]
    assert (error["state"], error["attempt"]) == (todo.state, todo.attempt)


def test_it_is_assigned_to_somebody_else(worker: Worker) -> None:
    todo = make_pending(endpoint=worker.endpoint, assignee="ada")
    message = refused(worker, "claim", todo)["message"]
    assert message == "the todo is assigned to someone else, attempt 0 of 5"


def test_a_retry_whose_key_is_another_s_names_it(worker: Worker) -> None:
    dead = make(DEAD, endpoint=worker.endpoint, idempotency_key="k")
    rival = make_pending(endpoint=worker.endpoint, idempotency_key="k")
    assert rival.pk in trouble(worker.ask(ON_A_TODO["retry"], dead.pk), 409)["message"]
