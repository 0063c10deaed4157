"""What each route answers when nothing is wrong."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from settings_app.models import Setting
from tests.factories import (
    endings,
    lapse,
    ledger,
    make_claimed,
    make_dead_letter,
    make_parked,
    make_pending,
    make_waiting,
)
from tests.todos.api.conftest import Hire, Worker
from todos.models import Todo
from todos.states import State


def claimed(worker: Worker, **fields: Any) -> Todo:
    return make_claimed(endpoint=worker.endpoint, owner=worker.owner, **fields)


def waiting(worker: Worker, **fields: Any) -> Todo:
    return make_waiting(endpoint=worker.endpoint, owner=worker.owner, **fields)


def seconds_left(todo: dict[str, Any], since: str) -> float:
    moments = [datetime.fromisoformat(todo[name]) for name in ("lease_expires_at", since)]
    return (moments[0] - moments[1]).total_seconds()


def test_create_takes_every_field(worker: Worker) -> None:
    fields = {
        "queue": "inbox",
        "title": "letter",
        "payload": {"to": ["Ada"], "n": 1.5},
        "kind": "mail",
        "source": "crm",
        "idempotency_key": "k1",
        "assignee": worker.owner,
        "max_attempts": 2,
    }
    answer = worker.post("todos", **fields)
    assert (answer.status_code, answer.json()["created"]) == (201, True)
    todo = answer.json()["todo"]
    assert {name: todo[name] for name in fields} == fields
    assert (todo["state"], todo["attempt"], todo["owner"]) == ("pending", 0, None)
    assert datetime.fromisoformat(todo["created_at"]).utcoffset() == timedelta(0)


def test_create_with_the_key_of_a_live_todo_makes_none(worker: Worker) -> None:
    first = worker.post("todos", queue="inbox", title="a", idempotency_key="k")
    second = worker.post("todos", queue="inbox", title="b", idempotency_key="k")
    assert (second.status_code, second.json()["created"]) == (200, False)
    assert second.json()["todo"] == first.json()["todo"]


def test_claim_next_takes_the_oldest_of_the_queues_it_names(worker: Worker) -> None:
    make_pending(endpoint=worker.endpoint, queue="inbox")
    wanted = make_pending(endpoint=worker.endpoint, queue="reviews")
    answer = worker.post(
        "todos/claim_next", queues=["reviews"], lease_ttl_seconds=60, claimant="w1"
    )
    body = answer.json()
    assert (body["todo"]["id"], body["attempt_seq"], body["attempts_total"]) == (wanted.pk, 1, 1)
    assert body["todo"]["owner"] == worker.owner
    assert seconds_left(body["todo"], "claimed_at") == 60
    assert "lease_token" not in body
    assert ledger(wanted)[0].claimant == "w1"


def test_a_claim_tells_what_was_before(worker: Worker) -> None:
    todo = claimed(worker)
    worker.post(f"todos/{todo.pk}/release", summary="half done")
    body = worker.post("todos/claim_next").json()
    (prior,) = body["prior_attempts"]
    assert (prior["outcome"], prior["summary"], prior["died"]) == ("released", "half done", False)
    assert body["attempts_total"] == 2


def test_claim_takes_over_a_lapsed_lease(worker: Worker) -> None:
    todo = lapse(claimed(worker))
    body = worker.post(f"todos/{todo.pk}/claim", fence=True).json()
    assert (body["todo"]["id"], body["attempt_seq"]) == (todo.pk, 2)
    assert len(body["lease_token"]) > 40
    assert body["prior_attempts"][0]["outcome"] == "lease_expired"


def test_a_heartbeat_counts_the_lease_anew(worker: Worker) -> None:
    todo = claimed(worker, lease_ttl_seconds=60)
    body = worker.post(f"todos/{todo.pk}/heartbeat", lease_ttl_seconds=600).json()
    assert seconds_left(body, "claimed_at") > 599


@pytest.mark.parametrize(
    ("verb", "state", "ending"),
    [
        ("complete", "done", ("completed", "done", "claimed")),
        ("fail", "failed", ("failed", "retry_scheduled", "claimed")),
    ],
)
def test_a_report_ends_the_attempt(
    verb: str, state: str, ending: tuple[str, ...], worker: Worker
) -> None:
    todo = claimed(worker)
    body = worker.post(
        f"todos/{todo.pk}/{verb}",
        result={"n": 1},
        summary="as asked",
        artifact="https://example.org/7",
    ).json()
    assert (body["state"], body["result"], body["owner"]) == (state, {"n": 1}, None)
    assert endings(todo) == [ending]
    (attempt,) = ledger(todo)
    assert (attempt.summary, attempt.artifact) == ("as asked", "https://example.org/7")
    assert (body["next_retry_at"] is None) == (verb == "complete")
    assert body["dead_letter"] is False


def test_fail_at_the_cap_makes_a_dead_letter(worker: Worker) -> None:
    todo = claimed(worker, max_attempts=1)
    body = worker.request("POST", f"todos/{todo.pk}/fail").json()
    assert (body["state"], body["dead_letter"], body["next_retry_at"]) == ("failed", True, None)


def test_release_puts_it_back(worker: Worker) -> None:
    todo = claimed(worker)
    body = worker.request("POST", f"todos/{todo.pk}/release").json()
    assert (body["state"], body["attempt"]) == ("pending", 1)


def test_a_question_and_its_answer(worker: Worker) -> None:
    todo = claimed(worker, lease_ttl_seconds=60)
    asked = worker.post(
        f"todos/{todo.pk}/interrupt", state="input-required", result={"question": "which?"}
    ).json()
    assert (asked["state"], asked["owner"]) == ("input-required", worker.owner)
    assert asked["interrupted_at"] == asked["updated_at"]

    answered = worker.post(f"todos/{todo.pk}/resume", result={"answer": "blue"}).json()
    assert (answered["state"], answered["result"]) == ("claimed", {"answer": "blue"})
    assert answered["owner"] == worker.owner
    # By the lease rule, from now on: as a heartbeat right after it would.
    assert seconds_left(answered, "updated_at") == 300


def test_resume_renews_for_as_long_as_it_says(worker: Worker) -> None:
    todo = lapse(waiting(worker))
    answered = worker.post(f"todos/{todo.pk}/resume", lease_ttl_seconds=900).json()
    assert seconds_left(answered, "updated_at") == 900
    assert answered["result"] == todo.result


def test_cancel_ends_what_somebody_holds(worker: Worker) -> None:
    todo = claimed(worker)
    body = worker.post(f"todos/{todo.pk}/cancel", result={"reason": "sent twice"}).json()
    assert (body["state"], body["result"]) == ("canceled", {"reason": "sent twice"})
    assert endings(todo) == [("canceled", "canceled", "claimed")]


def test_reject_refuses_what_nobody_has_claimed(worker: Worker) -> None:
    todo = make_pending(endpoint=worker.endpoint)
    assert worker.request("POST", f"todos/{todo.pk}/reject").json()["state"] == "rejected"


def test_retry_brings_a_dead_letter_back(worker: Worker) -> None:
    todo = make_dead_letter(endpoint=worker.endpoint)
    body = worker.request("POST", f"todos/{todo.pk}/retry").json()
    assert (body["state"], body["attempt"], body["attempts_total"]) == ("pending", 0, 1)


def test_get_shows_the_attempts_newest_first(worker: Worker) -> None:
    todo = claimed(worker, attempt=3)
    seen = worker.get(f"todos/{todo.pk}", attempts_limit=2).json()
    assert [attempt["seq"] for attempt in seen["attempts"]] == [3, 2]
    assert (seen["attempts"][0]["outcome"], seen["attempts"][1]["outcome"]) == (None, "released")
    assert worker.get(f"todos/{todo.pk}", attempts_limit=0).json()["attempts"] == []
    assert "lease_token" not in str(seen)


def test_get_shows_when_a_retry_is_due(worker: Worker) -> None:
    todo = make_parked(endpoint=worker.endpoint)
    seen = worker.get(f"todos/{todo.pk}").json()
    assert todo.next_retry_at is not None
    assert datetime.fromisoformat(seen["next_retry_at"]) == todo.next_retry_at
    assert (seen["dead_letter"], seen["reclaim_at"]) == (False, None)


def test_get_shows_when_the_wait_will_lapse(worker: Worker) -> None:
    todo = waiting(worker, age=timedelta(hours=1), state=State.AUTH_REQUIRED)
    assert todo.interrupted_at is not None
    seen = worker.get(f"todos/{todo.pk}").json()
    began = datetime.fromisoformat(seen["interrupted_at"])
    assert began == todo.interrupted_at
    assert datetime.fromisoformat(seen["reclaim_at"]) == began + timedelta(hours=24)

    Setting.objects.create(key="interrupt_lease_ttl_seconds", value="7200")
    seen = worker.get(f"todos/{todo.pk}").json()
    assert datetime.fromisoformat(seen["reclaim_at"]) == began + timedelta(hours=2)

    Setting.objects.update(value="0")
    assert worker.get(f"todos/{todo.pk}").json()["reclaim_at"] is None


def test_whoami_shows_the_numbers_that_count_for_this_endpoint(hire: Hire) -> None:
    Setting.objects.create(key="interrupt_lease_ttl_seconds", value="0")
    told = hire(default_lease_ttl_seconds=900, verbs=["get"]).get("whoami").json()
    assert told["lease"]["default_seconds"] == 900
    assert told["verbs"] == ["get"]
    assert told["interrupt_lease_ttl_seconds"] is None
