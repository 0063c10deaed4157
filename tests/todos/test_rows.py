"""A todo made of a statement's row is the one that Django would have made."""

import copy
import pickle

import pytest
from django.db import DEFAULT_DB_ALIAS
from pytest_django.asserts import assertNumQueries

from tests.factories import make_waiting
from todos import rows
from todos.models import Todo

pytestmark = pytest.mark.django_db


def test_a_todo_of_a_row_is_what_django_makes_of_it() -> None:
    expected = make_waiting()
    values = [getattr(expected, name) for name in rows.LIGHT_FIELDS]
    todo = rows.light_todo_from(["something else", *values])
    djangos = Todo.from_db(DEFAULT_DB_ALIAS, rows.LIGHT_FIELDS, values)
    assert todo is not None
    assert vars(todo) | {"_state": None} == vars(djangos) | {"_state": None}
    assert (todo._state.adding, todo._state.db) == (False, DEFAULT_DB_ALIAS)
    assert todo.get_deferred_fields() == set(rows.DOCUMENTS)
    assert pickle.loads(pickle.dumps(todo)) == copy.copy(todo) == expected
    with assertNumQueries(2):
        assert (todo.payload, todo.result) == (expected.payload, expected.result)
    assert todo.endpoint == expected.endpoint


def test_a_row_whose_todo_was_not_written_has_none() -> None:
    nothing = [None] * len(rows.FIELDS)
    assert rows.todo_from(nothing) is rows.light_todo_from(nothing) is None
