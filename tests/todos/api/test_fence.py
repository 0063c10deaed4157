"""Two workers on one endpoint, fenced and not; and reports whose first answer was lost."""

from datetime import timedelta
from typing import Any

import pytest

from tests.factories import age, endings, lapse, make_pending
from tests.todos.api.conftest import Worker, trouble
from todos.models import Todo
from todos.transitions.repeats import backoff

HOLDERS: dict[str, dict[str, Any]] = {
    "heartbeat": {},
    "complete": {"result": 1},
    "fail": {"result": 1},
    "release": {},
    "interrupt": {"state": "auth-required"},
}


def taken(worker: Worker, *, fence: bool = True, **fields: Any) -> tuple[str, str]:
    """The id of a new todo that the worker has claimed, and the token of its fence."""
    todo = make_pending(endpoint=worker.endpoint, **fields)
    claim = worker.post(f"todos/{todo.pk}/claim", fence=fence).json()
    return todo.pk, claim.get("lease_token", "")


@pytest.mark.parametrize("verb", HOLDERS)
def test_behind_a_fence_the_other_worker_is_kept_out(verb: str, worker: Worker) -> None:
    todo_id, token = taken(worker)
    before = Todo.objects.values().get()
    missing = trouble(worker.post(f"todos/{todo_id}/{verb}", **HOLDERS[verb]), 409)
    assert "fenced, and the lease_token is missing" in missing["message"]
    wrong = trouble(
        worker.post(f"todos/{todo_id}/{verb}", lease_token="x" * 43, **HOLDERS[verb]), 409
    )
    assert "the lease_token does not fit: its claim is fenced" in wrong["message"]
    assert Todo.objects.values().get() == before
    good = worker.post(f"todos/{todo_id}/{verb}", lease_token=token, **HOLDERS[verb])
    assert good.status_code == 200


@pytest.mark.parametrize("verb", HOLDERS)
def test_without_a_fence_the_other_worker_can(verb: str, worker: Worker) -> None:
    todo_id, _ = taken(worker, fence=False)
    assert worker.post(f"todos/{todo_id}/{verb}", **HOLDERS[verb]).status_code == 200


def test_a_token_that_nobody_asked_for_fits_nothing(worker: Worker) -> None:
    todo_id, _ = taken(worker, fence=False)
    error = trouble(worker.post(f"todos/{todo_id}/complete", lease_token="x"), 409)
    assert "its claim is not fenced" in error["message"]


def test_anybody_on_the_endpoint_answers_without_a_token(worker: Worker) -> None:
    todo_id, token = taken(worker)
    worker.post(f"todos/{todo_id}/interrupt", state="input-required", lease_token=token)
    assert worker.post(f"todos/{todo_id}/resume", result=1).status_code == 200
    # And the token outlives the wait.
    assert worker.post(f"todos/{todo_id}/complete", lease_token=token).status_code == 200


@pytest.mark.parametrize("verb", ["complete", "fail", "release"])
def test_a_repeated_report_is_answered_as_the_first(verb: str, worker: Worker) -> None:
    todo_id, token = taken(worker)
    body = {"lease_token": token, "summary": "as asked"}
    first = worker.post(f"todos/{todo_id}/{verb}", **body)
    again = worker.post(f"todos/{todo_id}/{verb}", **body)
    assert first.status_code == 200
    assert (again.status_code, again.content) == (200, first.content)
    assert len(endings(todo_id)) == 1


@pytest.mark.parametrize("verb", ["fail", "release"])
@pytest.mark.parametrize("attempts_before", [0, 2, 6])
def test_even_when_another_has_claimed_it_since(
    verb: str, attempts_before: int, worker: Worker
) -> None:
    todo_id, _ = taken(worker, fence=False, max_attempts=20)
    for _ in range(attempts_before):
        worker.post(f"todos/{todo_id}/release")
        worker.post(f"todos/{todo_id}/claim")
    worker.post(f"todos/{todo_id}/release")
    token = worker.post(f"todos/{todo_id}/claim", fence=True).json()["lease_token"]
    first = worker.post(f"todos/{todo_id}/{verb}", lease_token=token, **HOLDERS[verb])
    if verb == "fail":
        age(Todo.objects.get(), next_retry_at=timedelta(hours=1))
    assert worker.post(f"todos/{todo_id}/claim").status_code == 200
    before = Todo.objects.values().get()

    again = worker.post(f"todos/{todo_id}/{verb}", lease_token=token, **HOLDERS[verb])

    assert (again.status_code, again.content) == (200, first.content)
    assert Todo.objects.values().get() == before


def test_the_backoff_is_that_of_the_statement() -> None:
    seconds = [backoff(attempt).total_seconds() for attempt in range(1, 9)]
    assert seconds == [30, 60, 120, 240, 480, 900, 900, 900]


def test_another_report_under_the_token_is_no_repetition(worker: Worker) -> None:
    todo_id, token = taken(worker)
    worker.post(f"todos/{todo_id}/release", lease_token=token)
    error = trouble(worker.post(f"todos/{todo_id}/complete", lease_token=token), 409)
    assert error["message"].startswith("its attempt was released at ")


def test_a_report_after_a_takeover_is_no_repetition(worker: Worker) -> None:
    todo_id, token = taken(worker)
    lapse(Todo.objects.get())
    worker.post(f"todos/{todo_id}/claim")
    error = trouble(worker.post(f"todos/{todo_id}/complete", lease_token=token), 409)
    assert error["message"].startswith("the lease expired at ")
    assert error["message"].endswith("; the todo is claimed, attempt 2 of 5")


def test_a_token_repeats_nothing_on_another_s_todo(worker: Worker, hire: Any) -> None:
    todo_id, token = taken(worker)
    worker.post(f"todos/{todo_id}/complete", lease_token=token)
    trouble(hire().post(f"todos/{todo_id}/complete", lease_token=token), 404)
