"""At most one live todo per endpoint and idempotency key."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import IntegrityError, connection, transaction

from tests.factories import (
    OWNER,
    make,
    make_dead_letter,
    make_endpoint,
    make_parked,
    make_pending,
    make_waiting,
)
from tests.todos.seen import everything, heard, watch
from todos import reaper, transitions
from todos.errors import TodoConflict
from todos.models import Endpoint, Todo

pytestmark = pytest.mark.django_db

KEY = "order-1007"
LIVE = ["pending", "claimed", "input-required", "auth-required", "failed, parked"]
OVER = ["done", "canceled", "rejected", "failed, dead letter"]


def create(endpoint: Endpoint, key: str | None = KEY, **fields: object) -> tuple[Todo, bool]:
    given = {"queue": "inbox", "title": "second", "idempotency_key": key} | fields
    return transitions.create(endpoint, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("condition", LIVE)
def test_a_second_create_returns_the_live_todo_whatever_it_carries(condition: str) -> None:
    first = make(condition, idempotency_key=KEY, payload={"n": 1})
    before = everything()
    with heard() as sent:
        again, created = create(
            first.endpoint, queue="reviews", payload={"n": 2}, assignee="joe", max_attempts=9
        )
    assert not created
    assert again == first
    assert (again.condition, again.title, again.payload) == (condition, first.title, {"n": 1})
    assert everything() == before
    assert sent == []


@pytest.mark.parametrize("condition", OVER)
def test_the_end_of_a_todo_frees_its_key(condition: str) -> None:
    first = make(condition, idempotency_key=KEY)
    again, created = create(first.endpoint)
    assert created
    assert again.pk != first.pk
    assert again.state == "pending"


def test_the_end_of_an_endpoint_frees_no_key_of_another() -> None:
    first = make_pending(idempotency_key=KEY)
    other, created = create(make_endpoint())
    assert created
    assert other.pk != first.pk


def test_without_a_key_every_create_makes_a_todo() -> None:
    first = make_pending()
    assert all(create(first.endpoint, None)[1] for _ in range(2))


def test_keys_are_compared_exactly() -> None:
    first = make_pending(idempotency_key=KEY)
    for key in (KEY.upper(), f" {KEY}", f"{KEY} ", KEY + "é"):
        assert create(first.endpoint, key)[1], key


def test_a_key_that_lapses_and_comes_back_belongs_to_its_todo_all_the_while() -> None:
    first = make_parked(idempotency_key=KEY)
    for verb in ("retry", "claim", "release"):
        arguments = {} if verb == "retry" else {"owner": OWNER}
        getattr(transitions, verb)(first.endpoint, first.pk, **arguments)
        assert create(first.endpoint) == (first, False), verb


@pytest.mark.parametrize("condition", LIVE)
@pytest.mark.parametrize("operator", [False, True])
def test_a_retry_whose_key_belongs_to_another_live_todo_is_a_conflict_that_says_which(
    operator: bool, condition: str
) -> None:
    dead = make_dead_letter(idempotency_key=KEY)
    rival = make(condition, endpoint=dead.endpoint, idempotency_key=KEY)
    before = everything()
    with watch(dead) as seen, pytest.raises(TodoConflict, match=rival.pk) as caught:
        transitions.retry(None if operator else dead.endpoint, dead.pk)
    assert caught.value.state == "failed"
    assert everything() == before
    assert seen.hooks == []


@pytest.mark.parametrize("condition", OVER)
def test_a_retry_whose_key_is_free_again_takes_it_back(condition: str) -> None:
    dead = make_dead_letter(idempotency_key=KEY)
    make(condition, endpoint=dead.endpoint, idempotency_key=KEY)
    assert transitions.retry(dead.endpoint, dead.pk).state == "pending"
    assert create(dead.endpoint) == (dead, False)


def test_a_retry_is_not_hindered_by_its_own_key_or_by_another_tenants() -> None:
    parked = make_parked(idempotency_key=KEY)
    make_pending(idempotency_key=KEY)
    assert transitions.retry(parked.endpoint, parked.pk).state == "pending"


def test_a_reclaimed_wait_keeps_its_key_and_its_dead_letter_frees_it() -> None:
    first = make_waiting(idempotency_key=KEY, max_attempts=2)
    reaper.reclaim_now(first.pk)
    assert create(first.endpoint) == (first, False)
    transitions.claim(first.endpoint, first.pk, owner=OWNER)
    transitions.interrupt(first.endpoint, first.pk, owner=OWNER, state="input-required")
    reaper.reclaim_now(first.pk)
    assert create(first.endpoint)[1]


@pytest.mark.parametrize("condition", LIVE)
def test_the_database_itself_refuses_two_live_todos_with_one_key(condition: str) -> None:
    first = make(condition, idempotency_key=KEY)
    with pytest.raises(IntegrityError, match="todos_live_key_unique"), transaction.atomic():
        Todo.objects.create(
            endpoint=first.endpoint, queue="inbox", title="second", idempotency_key=KEY
        )


@pytest.mark.django_db(transaction=True)
def test_a_retry_in_a_snapshot_that_cannot_see_its_rival_fails_and_does_not_hang() -> None:
    dead = make_dead_letter(idempotency_key=KEY)
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("SELECT count(*) FROM todos")
        _create_on_another_connection(dead.endpoint)
        with pytest.raises(IntegrityError, match="todos_live_key_unique"):
            transitions.retry(dead.endpoint, dead.pk)


def _create_on_another_connection(endpoint: Endpoint) -> None:
    def run() -> bool:
        try:
            return create(endpoint)[1]
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run).result()
