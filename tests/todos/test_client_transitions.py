"""What create, reject, resume, cancel and retry write: every column, the ledger and the hooks."""

import pytest

from tests.factories import (
    ANSWER,
    ASKED,
    OPEN,
    OWNER,
    STRANGER,
    assert_invariants,
    endings,
    lapse,
    ledger,
    make,
    make_claimed,
    make_dead_letter,
    make_endpoint,
    make_parked,
    make_pending,
    make_waiting,
)
from tests.todos.seen import NOW, clock, everything, heard, row, seconds, watch
from todos import endpoints, reaper, transitions
from todos.errors import EndpointInactive, TodoConflict, TodoNotFound
from todos.models import Endpoint, Todo

pytestmark = pytest.mark.django_db


def test_create_writes_what_it_is_given() -> None:
    endpoint, began = make_endpoint(), clock()
    with heard() as sent:
        todo, created = transitions.create(
            endpoint,
            queue="reviews",
            title="Count the stock",
            payload={"shelf": [1, 2]},
            kind="count",
            source="mail",
            idempotency_key="stock-7",
            assignee=OWNER,
            max_attempts=3,
        )
    assert created
    stored = row(todo)
    assert began <= stored.pop("created_at") == stored.pop("updated_at") <= clock()
    assert stored == {
        "id": todo.pk,
        "endpoint_id": endpoint.pk,
        "queue": "reviews",
        "title": "Count the stock",
        "payload": '{"shelf": [1, 2]}',
        "kind": "count",
        "source": "mail",
        "idempotency_key": "stock-7",
        "assignee": OWNER,
        "state": "pending",
        "max_attempts": 3,
        "attempt": 0,
        "attempts_total": 0,
        "attempts_pruned": 0,
    } | dict.fromkeys(
        (
            "owner",
            "lease_expires_at",
            "claimed_at",
            "interrupted_at",
            "next_retry_at",
            "result",
            "completed_at",
        )
    )
    assert ledger(todo) == []
    assert sent == [(todo.pk, "created"), (todo.pk, "ready: created")]


def test_a_created_todo_has_five_attempts_and_an_id_of_the_known_form() -> None:
    todo = make_pending()
    assert todo.max_attempts == 5
    prefix, _, number = todo.pk.partition("_")
    assert (prefix, len(number), number.count("-")) == ("td", 36, 4)


@pytest.mark.parametrize("end", ["revoked", "expired"])
def test_an_endpoint_that_has_ended_creates_and_claims_nothing(end: str) -> None:
    todo = make_pending()
    endpoint = todo.endpoint
    if end == "expired":
        Endpoint.objects.update(expires_at=clock())
    else:
        Endpoint.objects.update(revoked_at=clock())
    before = everything()
    with pytest.raises(EndpointInactive):
        transitions.create(endpoint, queue="inbox", title="late")
    with pytest.raises(EndpointInactive):
        transitions.claim(endpoint, todo.pk, owner=OWNER)
    with pytest.raises(EndpointInactive):
        transitions.claim(None, todo.pk, owner=None)
    with pytest.raises(EndpointInactive):
        transitions.claim_next(endpoint, None, owner=OWNER)
    assert everything() == before


def test_an_endpoint_that_was_never_vended_is_not_found() -> None:
    unknown = Endpoint(name="ghost", queues=["inbox"])
    with pytest.raises(TodoNotFound, match="endpoint"):
        transitions.create(unknown, queue="inbox", title="work")
    with pytest.raises(TodoNotFound, match="endpoint"):
        transitions.claim_next(unknown, None, owner=OWNER)


@pytest.mark.parametrize(("given", "stored"), [({"why": "spam"}, '{"why": "spam"}'), (None, None)])
def test_reject_ends_a_pending_todo(given: object, stored: str | None) -> None:
    todo = make_pending()
    with watch(todo) as seen:
        transitions.reject(todo.endpoint, todo.pk, result=given)
    result = {} if stored is None else {"result": stored}
    assert seen.columns == result | {"state": "rejected", "completed_at": NOW, "updated_at": NOW}
    assert seen.attempts == {}
    assert seen.hooks == ["rejected"]
    assert_invariants()


def test_reject_without_a_reason_clears_the_result_of_earlier_attempts() -> None:
    todo = make_parked(due_in=-seconds(1), result={"half": True})
    reaper.requeue_due_retries()
    assert transitions.reject(todo.endpoint, todo.pk).result is None


@pytest.mark.parametrize("state", ["input-required", "auth-required"])
def test_resume_answers_the_wait_and_leaves_owner_lease_and_attempt(state: str) -> None:
    todo = make_waiting(state=state)
    with watch(todo) as seen:
        transitions.resume(todo.endpoint, todo.pk, owner=OWNER, result=ANSWER)
    assert seen.columns == {
        "state": "claimed",
        "result": '{"answer": "the blue one"}',
        "interrupted_at": None,
        "updated_at": NOW,
    }
    assert seen.attempts == {}
    assert seen.hooks == ["claimed"]
    assert_invariants()


def test_resume_without_an_answer_leaves_what_was_asked() -> None:
    todo = make_waiting()
    assert transitions.resume(todo.endpoint, todo.pk, owner=OWNER).result == ASKED


def test_resume_with_a_lease_renews_it_as_a_heartbeat_right_after_it_would() -> None:
    todo = lapse(make_waiting())
    with watch(todo) as seen:
        transitions.resume(todo.endpoint, todo.pk, owner=OWNER, lease_ttl_seconds=90)
    assert seen.columns == {
        "state": "claimed",
        "interrupted_at": None,
        "lease_expires_at": seconds(90),
        "updated_at": NOW,
    }
    assert seen.attempts == {1: {"last_heartbeat_at": NOW, "lease_expires_at": seconds(90)}}
    assert seen.hooks == ["claimed"]


LET_GO_OF = {
    "pending": {},
    "claimed": {"owner": None, "lease_expires_at": None},
    "input-required": {"owner": None, "lease_expires_at": None, "interrupted_at": None},
    "auth-required": {"owner": None, "lease_expires_at": None, "interrupted_at": None},
    "failed, parked": {"next_retry_at": None},
}


@pytest.mark.parametrize("condition", LET_GO_OF)
def test_cancel_ends_a_live_todo_whoever_holds_it(condition: str) -> None:
    todo = make(condition)
    held = {"owner", "lease_expires_at"} <= LET_GO_OF[condition].keys()
    with watch(todo) as seen:
        transitions.cancel(todo.endpoint, todo.pk, result={"why": "sold"})
    assert seen.columns == LET_GO_OF[condition] | {
        "state": "canceled",
        "result": '{"why": "sold"}',
        "completed_at": NOW,
        "updated_at": NOW,
    }
    closed = {
        "ended_at": NOW,
        "ended_from": condition,
        "outcome": "canceled",
        "disposition": "canceled",
        "summary": '{"why":"sold"}',
    }
    assert seen.attempts == ({1: closed} if held else {})
    assert seen.hooks == ["canceled"]
    assert_invariants()


def test_cancel_without_a_result_clears_what_was_asked() -> None:
    todo = make_waiting()
    assert transitions.cancel(todo.endpoint, todo.pk).result is None
    assert ledger(todo)[0].summary is None


def test_retry_brings_a_dead_letter_back_with_its_result_and_its_ledger() -> None:
    todo = make_dead_letter(max_attempts=2, attempt=2, result={"error": "410 Gone"})
    with watch(todo) as seen:
        retried = transitions.retry(todo.endpoint, todo.pk)
    assert seen.columns == {
        "state": "pending",
        "attempt": 0,
        "completed_at": None,
        "updated_at": NOW,
    }
    assert seen.attempts == {}
    assert seen.hooks == ["pending", "ready: requeued"]
    assert (retried.attempts_total, retried.result) == (2, {"error": "410 Gone"})
    assert_invariants()
    again = transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    assert (again.todo.attempt, again.attempt_seq) == (1, 3)
    assert endings(todo)[-1] == OPEN


def test_retry_brings_a_parked_retry_back_at_once() -> None:
    todo = make_parked()
    with watch(todo) as seen:
        transitions.retry(todo.endpoint, todo.pk)
    assert seen.columns == {
        "state": "pending",
        "attempt": 0,
        "next_retry_at": None,
        "updated_at": NOW,
    }


def test_retry_on_an_endpoint_that_has_ended_is_a_conflict() -> None:
    todo = make_claimed()
    endpoints.revoke(todo.endpoint)
    for who in (todo.endpoint, None):
        with watch(todo) as seen, pytest.raises(EndpointInactive):
            transitions.retry(who, todo.pk)
        assert seen.columns == {}


def test_a_canceled_todo_is_no_longer_its_holders() -> None:
    todo = make_claimed()
    transitions.cancel(todo.endpoint, todo.pk)
    with pytest.raises(TodoConflict, match="this one is canceled"):
        transitions.complete(todo.endpoint, todo.pk, owner=OWNER)
    with pytest.raises(TodoConflict):
        transitions.claim(todo.endpoint, todo.pk, owner=STRANGER)
    assert Todo.objects.get().state == "canceled"
