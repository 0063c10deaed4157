"""One idempotency key at the same moment: never two live todos of it, and never an error."""

from collections import Counter
from collections.abc import Callable
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from tests.factories import OWNER, assert_invariants, make_endpoint
from tests.races.conftest import Paused
from tests.races.sessions import PATIENCE, Session, wait_until_blocked
from todos import sql, transitions
from todos.errors import TodoConflict
from todos.models import Endpoint, Todo
from todos.states import DEAD
from todos.transitions import client

KEY = "order 17"


def _create(endpoint: Endpoint) -> tuple[Todo, bool]:
    return transitions.create(endpoint, queue="inbox", title="pack", idempotency_key=KEY)


def _claimed(endpoint: Endpoint) -> Todo:
    todo, created = _create(endpoint)
    assert created
    return transitions.claim(endpoint, todo.pk, owner=OWNER).todo


def _dead_letter(endpoint: Endpoint) -> Todo:
    todo = _claimed(endpoint)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE todos SET max_attempts = 1 WHERE id = %s", [todo.pk])
    return transitions.fail(endpoint, todo.pk, owner=OWNER)


def _live(endpoint: Endpoint) -> list[str]:
    over = {"done", "canceled", "rejected", DEAD}
    todos = Todo.objects.filter(endpoint=endpoint, idempotency_key=KEY)
    return [todo.pk for todo in todos if todo.condition not in over]


ENDS: dict[str, Callable[[Todo], Todo]] = {
    "complete": lambda todo: transitions.complete(todo.endpoint, todo.pk, owner=OWNER),
    "cancel": lambda todo: transitions.cancel(todo.endpoint, todo.pk),
}
each_end = pytest.mark.parametrize("end", ENDS.values(), ids=list(ENDS))


def test_creates_at_once_make_one_todo_and_all_return_it(
    sessions: Callable[[], Session],
) -> None:
    endpoint = make_endpoint()
    barrier = Barrier(6)

    def create() -> tuple[Todo, bool]:
        barrier.wait(timeout=PATIENCE)
        return _create(endpoint)

    creating = [sessions().start(create) for _ in range(6)]
    made = [doing.result(timeout=PATIENCE) for doing in creating]
    assert Counter(created for _, created in made) == {True: 1, False: 5}
    assert {todo.pk for todo, _ in made} == set(_live(endpoint))
    assert Todo.objects.count() == 1


def test_a_create_waits_for_an_uncommitted_one_and_returns_its_todo(
    one: Session, other: Session
) -> None:
    endpoint = make_endpoint()
    one.begin()
    first, _ = one.do(_create, endpoint)
    creating = other.start(_create, endpoint)
    wait_until_blocked(other, by=one, doing=creating)
    one.commit()
    todo, created = creating.result(timeout=PATIENCE)
    assert (todo.pk, created) == (first.pk, False)


def test_a_create_makes_it_if_the_one_it_waited_for_is_undone(one: Session, other: Session) -> None:
    endpoint = make_endpoint()
    one.begin()
    first, _ = one.do(_create, endpoint)
    creating = other.start(_create, endpoint)
    wait_until_blocked(other, by=one, doing=creating)
    one.rollback()
    todo, created = creating.result(timeout=PATIENCE)
    assert created
    assert _live(endpoint) == [todo.pk] != [first.pk]


@each_end
def test_a_create_waits_for_the_end_of_the_live_todo_and_makes_its_successor(
    end: Callable[[Todo], Todo], one: Session, other: Session
) -> None:
    endpoint = make_endpoint()
    first = _claimed(endpoint)
    one.begin()
    one.do(end, first)
    creating = other.start(_create, endpoint)
    wait_until_blocked(other, by=one, doing=creating)
    one.commit()
    todo, created = creating.result(timeout=PATIENCE)
    assert created
    assert _live(endpoint) == [todo.pk] != [first.pk]
    assert_invariants()


@each_end
def test_a_create_whose_key_was_taken_and_then_nobodys_tries_again(
    end: Callable[[Todo], Todo], other: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = make_endpoint()
    first = _claimed(endpoint)
    looks: list[str] = []

    def fetch_one(name: str, params: dict[str, Any]) -> Any:
        if name == "find_by_key":
            looks.append(name)
            other.do(end, first)
        return sql.fetch_one(name, params)

    monkeypatch.setattr(client, "fetch_one", fetch_one)
    todo, created = _create(endpoint)
    assert len(looks) == 1, "the key was taken when it tried to make a todo"
    assert created
    assert _live(endpoint) == [todo.pk] != [first.pk]


@each_end
def test_creates_against_ends_over_and_over_always_make_or_find_one(
    end: Callable[[Todo], Todo], one: Session, other: Session
) -> None:
    endpoint = make_endpoint()

    def create_often() -> list[tuple[str, bool]]:
        answers = [_create(endpoint) for _ in range(150)]
        return [(todo.pk, created) for todo, created in answers]

    def end_often() -> int:
        ended = 0
        while not creating.done():
            for todo in Todo.objects.filter(state="pending"):
                end(transitions.claim(endpoint, todo.pk, owner=OWNER).todo)
                ended += 1
        return ended

    creating = one.start(create_often)
    ending = other.start(end_often)
    answers = creating.result(timeout=PATIENCE)
    assert ending.result(timeout=PATIENCE) > 1
    assert sum(created for _, created in answers) == Todo.objects.count()
    assert {todo_id for todo_id, _ in answers} == {todo.pk for todo in Todo.objects.all()}
    assert len(_live(endpoint)) <= 1
    assert_invariants()


def _retry(todo: Todo) -> Todo:
    return transitions.retry(todo.endpoint, todo.pk)


def test_two_retries_with_one_key_bring_back_one(one: Session, other: Session) -> None:
    endpoint = make_endpoint()
    first, second = _dead_letter(endpoint), _dead_letter(endpoint)
    one.begin()
    one.do(_retry, first)
    retrying = other.start(_retry, second)
    wait_until_blocked(other, by=one, doing=retrying)
    one.commit()
    with pytest.raises(TodoConflict, match=first.pk):
        retrying.result(timeout=PATIENCE)
    assert _live(endpoint) == [first.pk]
    assert Todo.objects.get(pk=second.pk).condition == DEAD
    assert_invariants()


def test_a_retry_goes_on_if_the_other_with_its_key_is_undone(one: Session, other: Session) -> None:
    endpoint = make_endpoint()
    first, second = _dead_letter(endpoint), _dead_letter(endpoint)
    one.begin()
    one.do(_retry, first)
    retrying = other.start(_retry, second)
    wait_until_blocked(other, by=one, doing=retrying)
    one.rollback()
    assert retrying.result(timeout=PATIENCE).state == "pending"
    assert _live(endpoint) == [second.pk]


def test_a_retry_that_waits_for_a_create_with_its_key_is_refused(
    one: Session, other: Session
) -> None:
    endpoint = make_endpoint()
    dead = _dead_letter(endpoint)
    one.begin()
    todo, _ = one.do(_create, endpoint)
    retrying = other.start(_retry, dead)
    wait_until_blocked(other, by=one, doing=retrying)
    one.commit()
    with pytest.raises(TodoConflict, match=todo.pk):
        retrying.result(timeout=PATIENCE)
    assert _live(endpoint) == [todo.pk]


def test_a_create_that_waits_for_a_retry_with_its_key_returns_that(
    one: Session, other: Session
) -> None:
    endpoint = make_endpoint()
    dead = _dead_letter(endpoint)
    one.begin()
    one.do(_retry, dead)
    creating = other.start(_create, endpoint)
    wait_until_blocked(other, by=one, doing=creating)
    one.commit()
    todo, created = creating.result(timeout=PATIENCE)
    assert (todo.pk, created) == (dead.pk, False)


def test_a_retry_that_did_not_see_its_rival_yet_is_refused_by_the_index(
    one: Session, paused: Paused
) -> None:
    endpoint = make_endpoint()
    dead = _dead_letter(endpoint)
    with paused("retry").of(one, _retry, dead) as retrying:
        todo, created = _create(endpoint)
        assert created
    with pytest.raises(TodoConflict, match=todo.pk):
        retrying.result(timeout=PATIENCE)
    assert _live(endpoint) == [todo.pk]


def test_two_retries_of_one_todo_bring_it_back_once(one: Session, other: Session) -> None:
    dead: Any = _dead_letter(make_endpoint())
    one.begin()
    one.do(_retry, dead)
    retrying = other.start(_retry, dead)
    wait_until_blocked(other, by=one, doing=retrying)
    one.commit()
    with pytest.raises(TodoConflict, match="pending"):
        retrying.result(timeout=PATIENCE)
    assert_invariants()
