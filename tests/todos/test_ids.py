"""An id of whatever shape is looked up or not found, never a database error."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from tests.factories import OWNER, make_claimed, make_endpoint
from tests.todos.seen import everything
from todos import endpoints, reaper, transitions
from todos.errors import TodoNotFound
from todos.models import Endpoint

pytestmark = pytest.mark.django_db

NO_TODO_IDS: dict[str, Any] = {
    "empty": "",
    "spaces": "   ",
    "a word": "nothing",
    "only the prefix": "td_",
    "NUL": "td_\0",
    "newline": "td_\n",
    "lone surrogate": "td_\ud800",
    "200 characters": "x" * 200,
    "5,000 characters": "x" * 5000,
    "5,000 long characters": "😀" * 5000,
    "percent signs": "%s %(id)s %",
    "quotes": "'; DROP TABLE todos; --",
    "not ASCII": "td_ü€",
    "int": 7,
    "zero": 0,
    "float": 1.5,
    "true": True,
    "None": None,
    "uuid": uuid.uuid4(),
    "bytes": b"td_x",
    "list": ["td_x"],
    "dict": {"id": "td_x"},
    "object": object(),
}

ON_A_TODO: dict[str, Callable[[Any, Any], Any]] = {
    "claim": lambda endpoint, todo: transitions.claim(endpoint, todo, owner=OWNER),
    "heartbeat": lambda endpoint, todo: transitions.heartbeat(endpoint, todo, owner=OWNER),
    "complete": lambda endpoint, todo: transitions.complete(endpoint, todo, owner=OWNER),
    "fail": lambda endpoint, todo: transitions.fail(endpoint, todo, owner=OWNER),
    "release": lambda endpoint, todo: transitions.release(endpoint, todo, owner=OWNER),
    "interrupt": lambda endpoint, todo: transitions.interrupt(
        endpoint, todo, owner=OWNER, state="auth-required"
    ),
    "resume": lambda endpoint, todo: transitions.resume(endpoint, todo, owner=OWNER),
    "cancel": lambda endpoint, todo: transitions.cancel(endpoint, todo),
    "reject": lambda endpoint, todo: transitions.reject(endpoint, todo),
    "retry": lambda endpoint, todo: transitions.retry(endpoint, todo),
    "reclaim_now": lambda endpoint, todo: reaper.reclaim_now(todo),
}


@pytest.mark.parametrize("verb", ON_A_TODO)
def test_what_is_no_id_of_a_todo_is_not_found(verb: str, subtests: pytest.Subtests) -> None:
    endpoint = make_claimed().endpoint
    before = everything()
    for shape, todo_id in NO_TODO_IDS.items():
        for who in (endpoint, None):
            with (
                subtests.test(shape, operator=who is None),
                pytest.raises(TodoNotFound, match=r"^todo not found$"),
            ):
                ON_A_TODO[verb](who, todo_id)
    assert everything() == before


NO_ENDPOINT_IDS: dict[str, Any] = {
    "empty": "",
    "a word": "nothing",
    "nearly": str(uuid.uuid4())[:-1],
    "NUL": "\0",
    "lone surrogate": "\ud800",
    "5,000 characters": "f" * 5000,
    "int": 7,
    "zero": 0,
    "false": False,
    "bytes": b"x" * 16,
    "list": [],
    "dict": {},
    "object": object(),
    "a todo's id": f"td_{uuid.uuid4()}",
    "never vended": uuid.uuid4(),
    "never vended, as text": str(uuid.uuid4()),
    "never saved": Endpoint(name="ghost", queues=["inbox"]),
}


@pytest.mark.parametrize("shape", NO_ENDPOINT_IDS)
def test_what_is_no_endpoint_is_not_found_and_above_all_no_operator(shape: str) -> None:
    todo = make_claimed()
    before = everything()
    for verb, call in ON_A_TODO.items():
        if verb != "reclaim_now":
            with pytest.raises(TodoNotFound):
                call(NO_ENDPOINT_IDS[shape], todo.pk)
    with pytest.raises(TodoNotFound, match=r"^endpoint not found$"):
        transitions.create(NO_ENDPOINT_IDS[shape], queue="inbox", title="work")
    with pytest.raises(TodoNotFound, match=r"^endpoint not found$"):
        transitions.claim_next(NO_ENDPOINT_IDS[shape], ["inbox"], owner=OWNER)
    assert everything() == before


@pytest.mark.parametrize("shape", [*NO_ENDPOINT_IDS, "None"])
def test_what_is_no_endpoint_cannot_be_revoked(shape: str) -> None:
    make_claimed()
    before = everything()
    with pytest.raises(TodoNotFound, match=r"^endpoint not found$"):
        endpoints.revoke(NO_ENDPOINT_IDS.get(shape))  # type: ignore[arg-type]
    assert everything() == before


@pytest.mark.parametrize("form", [lambda e: e.pk, lambda e: str(e.pk), lambda e: e])
def test_an_endpoint_may_be_given_by_its_id(form: Callable[[Endpoint], Any]) -> None:
    endpoint = make_endpoint()
    todo, _ = transitions.create(form(endpoint), queue="inbox", title="work")
    assert transitions.claim(form(endpoint), todo.pk, owner=OWNER).todo.endpoint_id == endpoint.pk
    assert endpoints.revoke(form(endpoint)).revoked_at is not None
