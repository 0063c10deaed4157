"""Every operation on a todo in every state: what the table does not allow is refused."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.factories import (
    MAKERS,
    OWNER,
    STRANGER,
    age,
    assert_invariants,
    lapse,
    make,
    make_endpoint,
    make_parked,
)
from tests.todos.seen import everything, heard, watch
from todos import endpoints, reaper, transitions
from todos.errors import TodoConflict, TodoNotFound
from todos.models import Todo
from todos.states import TRANSITIONS

pytestmark = pytest.mark.django_db

PENDING, CLAIMED, DONE, CANCELED, REJECTED = "pending", "claimed", "done", "canceled", "rejected"
INPUT, AUTH = "input-required", "auth-required"
PARKED, DEAD = "failed, parked", "failed, dead letter"
LIVE = {PENDING, CLAIMED, INPUT, AUTH, PARKED}

# The table of the domain, written a second time, from the document and not from the code.
TABLE: dict[str, tuple[set[str], set[str]]] = {
    "create": (set(), {PENDING}),
    "reject": ({PENDING}, {REJECTED}),
    "claim": ({PENDING, CLAIMED, PARKED}, {CLAIMED}),
    "heartbeat": ({CLAIMED}, {CLAIMED}),
    "complete": ({CLAIMED}, {DONE}),
    "fail": ({CLAIMED}, {PARKED, DEAD}),
    "release": ({CLAIMED}, {PENDING}),
    "interrupt": ({CLAIMED}, {INPUT, AUTH}),
    "resume": ({INPUT, AUTH}, {CLAIMED}),
    "cancel": (LIVE, {CANCELED}),
    "retry": ({PARKED, DEAD}, {PENDING}),
    "due retry": ({PARKED}, {PENDING}),
    "reap lapsed lease": ({CLAIMED}, {PENDING, DEAD}),
    "reclaim lapsed wait": ({INPUT, AUTH}, {PENDING, DEAD}),
    "reclaim now": ({INPUT, AUTH}, {PENDING, DEAD}),
    "revoke endpoint": (LIVE, {DEAD}),
}

Call = Callable[[Any, str, str | None], Any]

CALLS: dict[str, Call] = {
    "reject": lambda endpoint, todo, owner: transitions.reject(endpoint, todo),
    "claim": lambda endpoint, todo, owner: transitions.claim(endpoint, todo, owner=owner),
    "heartbeat": lambda endpoint, todo, owner: transitions.heartbeat(endpoint, todo, owner=owner),
    "complete": lambda endpoint, todo, owner: transitions.complete(endpoint, todo, owner=owner),
    "fail": lambda endpoint, todo, owner: transitions.fail(endpoint, todo, owner=owner),
    "release": lambda endpoint, todo, owner: transitions.release(endpoint, todo, owner=owner),
    "interrupt": lambda endpoint, todo, owner: transitions.interrupt(
        endpoint, todo, owner=owner, state=AUTH
    ),
    "resume": lambda endpoint, todo, owner: transitions.resume(endpoint, todo, owner=owner),
    "cancel": lambda endpoint, todo, owner: transitions.cancel(endpoint, todo),
    "retry": lambda endpoint, todo, owner: transitions.retry(endpoint, todo),
}
OPERATORS_ONLY: dict[str, Call] = {
    "reclaim now": lambda endpoint, todo, owner: reaper.reclaim_now(todo),
}
NEEDS_THE_HOLDER = ["heartbeat", "complete", "fail", "release", "interrupt", "resume"]

# What a claim may take depends on clocks as well: a fresh lease and a fresh backoff are refused.
FRESH = TABLE | {"claim": ({PENDING}, {CLAIMED})}
ALLOWED = [(name, source) for name in CALLS | OPERATORS_ONLY for source in sorted(FRESH[name][0])]
REFUSED = [
    (name, source)
    for name in CALLS | OPERATORS_ONLY
    for source in MAKERS
    if source not in FRESH[name][0]
]


def call(name: str, endpoint: Any, todo: Todo | str, owner: str | None = OWNER) -> Any:
    return (CALLS | OPERATORS_ONLY)[name](
        endpoint, todo if isinstance(todo, str) else todo.pk, owner
    )


def test_the_table_in_code_is_the_table_of_the_domain() -> None:
    in_code = {name: (set(row.sources), set(row.targets)) for name, row in TRANSITIONS.items()}
    assert in_code == TABLE


def test_the_factories_cover_every_condition_of_the_table() -> None:
    assert set(MAKERS) == LIVE | {DEAD, DONE, CANCELED, REJECTED}


@pytest.mark.parametrize(("name", "source"), ALLOWED)
def test_what_the_table_allows_leads_where_it_says(name: str, source: str) -> None:
    todo = make(source)
    call(name, todo.endpoint, todo)
    assert Todo.objects.get().condition in TABLE[name][1]
    assert_invariants()


@pytest.mark.parametrize(("name", "source"), REFUSED)
def test_what_the_table_does_not_allow_is_a_conflict_and_writes_nothing(
    name: str, source: str
) -> None:
    todo = make(source)
    before = everything()
    with watch(todo) as seen, pytest.raises(TodoConflict) as caught:
        call(name, todo.endpoint, todo)
    assert everything() == before
    assert seen.hooks == []
    assert caught.value.state == todo.state
    assert todo.condition in str(caught.value)


@pytest.mark.parametrize(("name", "source"), [pair for pair in REFUSED if pair[0] in CALLS])
def test_an_operator_is_refused_from_the_same_states(name: str, source: str) -> None:
    todo = make(source)
    before = everything()
    with pytest.raises(TodoConflict):
        call(name, None, todo, None)
    assert everything() == before


@pytest.mark.parametrize(("name", "source"), [pair for pair in ALLOWED if pair[0] in CALLS])
def test_an_operator_needs_neither_owner_nor_endpoint(name: str, source: str) -> None:
    todo = make(source)
    call(name, None, todo, None)
    assert Todo.objects.get().condition in TABLE[name][1]
    assert_invariants()


@pytest.mark.parametrize("name", NEEDS_THE_HOLDER)
def test_only_the_holder_may(name: str) -> None:
    todo = make(INPUT if name == "resume" else CLAIMED)
    before = everything()
    with watch(todo) as seen, pytest.raises(TodoConflict, match="held by someone else") as caught:
        call(name, todo.endpoint, todo, STRANGER)
    assert everything() == before
    assert seen.hooks == []
    assert caught.value.state == todo.state


@pytest.mark.parametrize("name", [name for name in CALLS if name not in NEEDS_THE_HOLDER])
def test_whoever_is_on_the_endpoint_may(name: str) -> None:
    todo = make(DEAD if name == "retry" else PENDING)
    call(name, todo.endpoint, todo, STRANGER)


@pytest.mark.parametrize(("name", "source"), [pair for pair in ALLOWED if pair[0] in CALLS])
def test_another_tenants_todo_looks_exactly_like_none(name: str, source: str) -> None:
    todo, stranger = make(source), make_endpoint()
    before = everything()
    answers = []
    for todo_id in (todo.pk, f"td_{uuid.uuid4()}"):
        with heard() as sent, pytest.raises(TodoNotFound) as caught:
            call(name, stranger, todo_id)
        answers.append((type(caught.value), str(caught.value), vars(caught.value)))
        assert sent == []
    assert answers[0] == answers[1]
    assert everything() == before


@pytest.mark.parametrize("name", CALLS | OPERATORS_ONLY)
def test_a_missing_id_is_not_found_for_an_operator_either(name: str) -> None:
    make(PENDING)
    with pytest.raises(TodoNotFound, match=r"^todo not found$"):
        call(name, None, f"td_{uuid.uuid4()}", None)


def _overdue(condition: str) -> Todo:
    """A todo in that state whose every clock ran out long ago."""
    if condition == PARKED:
        return make_parked(due_in=-timedelta(days=9))
    todo = make(condition)
    if condition in (CLAIMED, INPUT, AUTH):
        todo = lapse(todo, timedelta(days=9))
    return age(todo, interrupted_at=timedelta(days=9), updated_at=timedelta(days=9))


SWEEPS: dict[str, Callable[[Todo], Any]] = {
    "due retry": lambda todo: reaper.requeue_due_retries(),
    "reap lapsed lease": lambda todo: reaper.reap_expired(),
    "reclaim lapsed wait": lambda todo: reaper.reap_interrupted(),
    "revoke endpoint": lambda todo: endpoints.revoke(todo.endpoint),
}


@pytest.mark.parametrize("condition", MAKERS)
@pytest.mark.parametrize("name", SWEEPS)
def test_a_sweep_moves_what_is_its_own_and_nothing_else(name: str, condition: str) -> None:
    todo = _overdue(condition)
    own = TABLE[name][0] | (TABLE["reclaim lapsed wait"][0] if name.startswith("reap") else set())
    with watch(todo) as seen:
        SWEEPS[name](todo)
    if condition in own:
        assert Todo.objects.get().condition in TABLE[name][1]
        assert seen.hooks
    else:
        assert (seen.columns, seen.attempts, seen.hooks) == ({}, {}, [])
    assert_invariants()


def test_no_sweep_moves_what_is_not_overdue() -> None:
    for condition in MAKERS:
        make(condition)
    before = everything()
    assert reaper.reap_expired() == reaper.reap_interrupted() == reaper.requeue_due_retries() == 0
    assert everything() == before
