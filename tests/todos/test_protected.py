"""Nothing cascades a ledger away, neither Django nor SQL."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.db.models import PROTECT, Model, ProtectedError

from tests.factories import make_claimed, make_done, make_endpoint, make_pending, make_user
from tests.todos.seen import everything
from todos.models import Attempt, Endpoint, Todo

pytestmark = pytest.mark.django_db


def endpoint_of_a_todo() -> Endpoint:
    return make_pending().endpoint


def endpoint_of_a_todo_that_is_over() -> Endpoint:
    return make_done().endpoint


def owner_of_an_endpoint() -> User:
    owner = make_user()
    make_endpoint(owner=owner)
    return owner


OWNERS: list[Callable[[], Model]] = [
    endpoint_of_a_todo,
    endpoint_of_a_todo_that_is_over,
    make_claimed,
    make_done,
    owner_of_an_endpoint,
]


@pytest.mark.parametrize("make", OWNERS)
def test_what_owns_a_ledger_cannot_be_deleted(make: Callable[[], Model]) -> None:
    thing = make()
    before = everything()
    with pytest.raises(ProtectedError):
        thing.delete()
    with pytest.raises(ProtectedError):
        type(thing)._default_manager.filter(pk=thing.pk).delete()
    assert everything() == before


@pytest.mark.parametrize("make", OWNERS)
def test_nor_can_it_by_sql(make: Callable[[], Model]) -> None:
    thing = make()
    before = everything()
    with pytest.raises(IntegrityError, match="still referenced"), transaction.atomic():
        _delete_by_sql(thing)
    assert everything() == before


def _delete_by_sql(thing: Model) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(f"DELETE FROM {thing._meta.db_table} WHERE id = %s", [thing.pk])


@pytest.mark.parametrize("make", [make_endpoint, make_user, make_pending])
def test_what_owns_nothing_can_be_deleted(make: Callable[[], Model]) -> None:
    thing = make()
    _delete_by_sql(thing)
    assert not type(thing)._default_manager.filter(pk=thing.pk).exists()


def test_no_relation_of_ours_cascades() -> None:
    rules = {
        f"{model.__name__}.{field.name}": field.remote_field.on_delete
        for model in (Endpoint, Todo, Attempt)
        for field in model._meta.concrete_fields
        if field.remote_field
    }
    assert rules == {
        "Endpoint.owner": PROTECT,
        "Todo.endpoint": PROTECT,
        "Attempt.todo": PROTECT,
        "Attempt.claimer_endpoint": PROTECT,
    }


def test_the_database_knows_no_cascade_either() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conrelid::regclass::text, confdeltype FROM pg_constraint WHERE contype = 'f'"
            " AND conrelid::regclass::text IN ('endpoints', 'todos', 'todo_attempts')"
        )
        keys = cursor.fetchall()
    assert {table for table, _ in keys} == {"endpoints", "todos", "todo_attempts"}
    assert {rule for _, rule in keys} == {"a"}
