"""Which todo claim_next takes: the oldest claimable one of the queues that it is asked for."""

from datetime import timedelta
from typing import Any

import pytest

from tests.factories import (
    OWNER,
    STRANGER,
    age,
    assert_invariants,
    make,
    make_claimed,
    make_endpoint,
    make_parked,
    make_pending,
    make_waiting,
)
from tests.todos.seen import everything, seconds
from todos import transitions
from todos.errors import InvalidInput, TodoConflict
from todos.models import Endpoint, Todo

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


@pytest.fixture
def endpoint() -> Endpoint:
    return make_endpoint(queues=["a", "b", "c"])


def aged(hours: int, todo: Todo) -> Todo:
    return age(todo, created_at=timedelta(hours=hours))


def taken(endpoint: Endpoint, queues: list[str] | None, *, owner: str = OWNER) -> list[str]:
    """The ids that claim_next gives away until there is nothing left."""
    ids = []
    while claim := transitions.claim_next(endpoint, queues, owner=owner):
        ids.append(claim.todo.pk)
    assert_invariants()
    return ids


def test_the_oldest_of_one_queue_goes_first(endpoint: Endpoint) -> None:
    todos = [aged(hours, make_pending(endpoint=endpoint, queue="a")) for hours in (1, 3, 2)]
    assert taken(endpoint, ["a"]) == [todos[1].pk, todos[2].pk, todos[0].pk]


def test_the_oldest_of_several_queues_goes_first(endpoint: Endpoint) -> None:
    hours = {"a": (1, 5), "b": (4, 2), "c": (3, 6)}
    todos = {
        age: aged(age, make_pending(endpoint=endpoint, queue=queue)).pk
        for queue, ages in hours.items()
        for age in ages
    }
    assert taken(endpoint, ["a", "b", "c"]) == [todos[age] for age in (6, 5, 4, 3, 2, 1)]


def test_no_queues_means_all_that_are_granted(endpoint: Endpoint) -> None:
    todos = [make_pending(endpoint=endpoint, queue=queue).pk for queue in ("c", "a", "b")]
    assert taken(endpoint, None) == todos


def test_only_the_queues_that_are_asked_for_are_looked_at(endpoint: Endpoint) -> None:
    aged(9, make_pending(endpoint=endpoint, queue="a"))
    aged(9, make_claimed(endpoint=endpoint, queue="a", lapsed_for=DAY))
    aged(9, make_parked(endpoint=endpoint, queue="a", due_in=-DAY))
    wanted = make_pending(endpoint=endpoint, queue="b")
    assert taken(endpoint, ["b", "c", "b"]) == [wanted.pk]


def test_equally_old_todos_go_by_id(endpoint: Endpoint) -> None:
    todos = [make_pending(endpoint=endpoint, queue=queue) for queue in "abcabc"]
    Todo.objects.update(created_at=todos[0].created_at)
    assert taken(endpoint, None) == sorted(todo.pk for todo in todos)


@pytest.mark.parametrize("turn", range(3))
def test_pending_lapsed_and_due_todos_take_turns_by_age(endpoint: Endpoint, turn: int) -> None:
    ages = [(5, 2), (4, 3), (6, 1)]
    ages = ages[turn:] + ages[:turn]
    todos = {}
    for hours in ages[0]:
        todos[hours] = aged(hours, make_pending(endpoint=endpoint, queue="a"))
    for hours in ages[1]:
        todos[hours] = aged(hours, make_claimed(endpoint=endpoint, queue="b", lapsed_for=DAY))
    for hours in ages[2]:
        todos[hours] = aged(hours, make_parked(endpoint=endpoint, queue="c", due_in=-DAY))
    assert taken(endpoint, None) == [todos[hours].pk for hours in (6, 5, 4, 3, 2, 1)]


def test_the_age_of_a_lapsed_or_due_todo_is_its_creation_not_its_deadline(
    endpoint: Endpoint,
) -> None:
    young = make_parked(endpoint=endpoint, queue="a", due_in=-DAY)
    old = aged(1, make_claimed(endpoint=endpoint, queue="a", lapsed_for=seconds(1)))
    assert taken(endpoint, ["a"]) == [old.pk, young.pk]


@pytest.mark.parametrize(
    "condition", ["input-required", "auth-required", "done", "canceled", "rejected"]
)
def test_what_is_not_claimable_is_never_handed_out(endpoint: Endpoint, condition: str) -> None:
    aged(9, make(condition, endpoint=endpoint, queue="a"))
    assert taken(endpoint, None) == []


def test_fresh_leases_fresh_backoffs_dead_letters_and_lapses_at_the_cap_are_not_either(
    endpoint: Endpoint,
) -> None:
    make_claimed(endpoint=endpoint, queue="a")
    make_parked(endpoint=endpoint, queue="a")
    make("failed, dead letter", endpoint=endpoint, queue="a")
    make_claimed(endpoint=endpoint, queue="a", max_attempts=1, lapsed_for=DAY)
    make_waiting(endpoint=endpoint, queue="a", age=9 * DAY)
    assert taken(endpoint, None) == []


def test_another_tenants_queue_of_the_same_name_is_another_queue(endpoint: Endpoint) -> None:
    stranger = make_endpoint(queues=["a"])
    make_pending(endpoint=stranger, queue="a")
    make_claimed(endpoint=stranger, queue="a", lapsed_for=DAY)
    make_parked(endpoint=stranger, queue="a", due_in=-DAY)
    assert taken(endpoint, None) == []


def test_an_assigned_todo_is_for_its_assignee_alone(endpoint: Endpoint) -> None:
    todo = make_pending(endpoint=endpoint, queue="a", assignee=STRANGER)
    assert taken(endpoint, None) == []
    with pytest.raises(TodoConflict, match="assigned to someone else") as caught:
        transitions.claim(endpoint, todo.pk, owner=OWNER)
    assert caught.value.state == "pending"
    assert taken(endpoint, None, owner=STRANGER) == [todo.pk]


def test_its_assignee_may_also_claim_it_by_id_and_so_may_an_operator(endpoint: Endpoint) -> None:
    for who, owner in ((endpoint, STRANGER), (None, "joe")):
        todo = make_pending(endpoint=endpoint, queue="a", assignee=STRANGER)
        assert transitions.claim(who, todo.pk, owner=owner).todo.owner == owner


@pytest.mark.parametrize("how", ["lapsed", "due"])
def test_a_lapsed_or_due_todo_stays_its_assignees(endpoint: Endpoint, how: str) -> None:
    fields: dict[str, Any] = {"endpoint": endpoint, "queue": "a", "assignee": STRANGER}
    if how == "lapsed":
        todo = make_claimed(owner=STRANGER, lapsed_for=DAY, **fields)
    else:
        todo = make_parked(owner=STRANGER, due_in=-DAY, **fields)
    assert taken(endpoint, None) == []
    with pytest.raises(TodoConflict, match="assigned to someone else"):
        transitions.claim(endpoint, todo.pk, owner=OWNER)
    assert taken(endpoint, None, owner=STRANGER) == [todo.pk]


def test_ones_own_and_nobodys_todos_take_turns_by_age(endpoint: Endpoint) -> None:
    todos = {}
    for hours, assignee in ((1, OWNER), (2, None), (3, STRANGER), (4, OWNER), (5, None)):
        todo = make_pending(endpoint=endpoint, queue="a", assignee=assignee)
        todos[hours] = aged(hours, todo).pk
    assert taken(endpoint, ["a"]) == [todos[hours] for hours in (5, 4, 2, 1)]
    assert taken(endpoint, ["a"], owner=STRANGER) == [todos[3]]


@pytest.mark.parametrize("queues", [["a", "z"], ["z"], ["inbox"], ["A"], ["a "], ["a,b"]], ids=str)
def test_a_queue_that_is_not_granted_is_refused(endpoint: Endpoint, queues: list[str]) -> None:
    make_pending(endpoint=endpoint, queue="a")
    before = everything()
    with pytest.raises(InvalidInput, match=r"^queues: must be granted") as caught:
        transitions.claim_next(endpoint, queues, owner=OWNER)
    assert caught.value.field == "queues"
    assert everything() == before


@pytest.mark.parametrize("queues", [[], "a", "abc", [""], ["__other__"], [7], [None], 7, {"a": 1}])
def test_queues_are_a_list_of_names(endpoint: Endpoint, queues: Any) -> None:
    make_pending(endpoint=endpoint, queue="a")
    before = everything()
    with pytest.raises(InvalidInput, match=r"^queues: "):
        transitions.claim_next(endpoint, queues, owner=OWNER)
    assert everything() == before


@pytest.mark.parametrize("queues", [("a",), {"a"}, frozenset({"a"})])
def test_any_collection_of_names_will_do(endpoint: Endpoint, queues: Any) -> None:
    todo = make_pending(endpoint=endpoint, queue="a")
    assert taken(endpoint, queues) == [todo.pk]


def test_a_stopped_reaper_strands_neither_lapsed_leases_nor_due_retries(
    endpoint: Endpoint,
) -> None:
    lapsed = make_claimed(endpoint=endpoint, queue="a", max_attempts=2, lapsed_for=seconds(1))
    due = make_parked(endpoint=endpoint, queue="b", max_attempts=2, due_in=seconds(0))
    assert taken(endpoint, None) == [lapsed.pk, due.pk]


def test_nothing_to_do_writes_nothing(endpoint: Endpoint) -> None:
    before = everything()
    assert transitions.claim_next(endpoint, None, owner=OWNER) is None
    assert everything() == before
