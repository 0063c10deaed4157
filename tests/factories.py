# mypy: allow-untyped-calls
"""Rows in an exact state and age, each with the ledger that belongs to it.

States come from the public API alone. Time never sleeps here: `age` moves stamps back by SQL.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Model
from factory.base import Factory
from factory.declarations import Sequence, SubFactory
from factory.django import DjangoModelFactory

from todos import endpoints, transitions
from todos.models import Attempt, Endpoint, Todo
from todos.states import DEAD, PARKED, State

OWNER = "ada"
STRANGER = "eve"
ASKED = {"question": "Which one, the red or the blue?"}
ANSWER = {"answer": "the blue one"}


class UserFactory(DjangoModelFactory[User]):
    class Meta:
        model = User

    username = Sequence(lambda n: f"person-{n}")


class EndpointFactory(Factory[Endpoint]):
    class Meta:
        model = Endpoint

    name = Sequence(lambda n: f"desk {n}")
    queues = ["inbox", "reviews"]

    @classmethod
    def _create(cls, model_class: Any, *args: Any, **kwargs: Any) -> Endpoint:
        return endpoints.vend(**kwargs)[0]


class TodoFactory(Factory[Todo]):
    """A pending todo, by default of an endpoint of its own."""

    class Meta:
        model = Todo

    endpoint = SubFactory(EndpointFactory)
    queue = "inbox"
    title = Sequence(lambda n: f"work {n}")

    @classmethod
    def _create(cls, model_class: Any, *args: Any, **kwargs: Any) -> Todo:
        todo, created = transitions.create(kwargs.pop("endpoint"), **kwargs)
        assert created, "the idempotency key belongs to a live todo"
        return todo


def make_user(**fields: Any) -> User:
    return UserFactory.create(**fields)


def make_endpoint(**fields: Any) -> Endpoint:
    return EndpointFactory.create(**fields)


def make_pending(**fields: Any) -> Todo:
    """`fields` are create's; without `endpoint`, the todo gets one of its own."""
    return TodoFactory.create(**fields)


def make_claim(
    *,
    owner: str = OWNER,
    attempt: int = 1,
    lease_ttl_seconds: int | None = None,
    claimant: str = "",
    fence: bool = False,
    **fields: Any,
) -> transitions.Claim:
    """A claim of a new todo in its given attempt: those before it were released."""
    todo = make_pending(**fields)
    for _ in range(attempt - 1):
        transitions.claim(todo.endpoint, todo.pk, owner=owner)
        transitions.release(todo.endpoint, todo.pk, owner=owner)
    return transitions.claim(
        todo.endpoint,
        todo.pk,
        owner=owner,
        lease_ttl_seconds=lease_ttl_seconds,
        claimant=claimant,
        fence=fence,
    )


def make_claimed(*, lapsed_for: timedelta | None = None, **fields: Any) -> Todo:
    """A held todo; with `lapsed_for`, its lease ran out that long ago. `fields` as make_claim's."""
    todo = make_claim(**fields).todo
    return todo if lapsed_for is None else lapse(todo, lapsed_for)


def make_waiting(
    *,
    age: timedelta | None = None,
    state: str = State.INPUT_REQUIRED,
    asked: Any = ASKED,
    **fields: Any,
) -> Todo:
    """A wait that began `age` ago. `fields` as make_claim's, but for the fence."""
    todo = make_claimed(**fields)
    owner = todo.owner
    todo = transitions.interrupt(todo.endpoint, todo.pk, owner=owner, state=state, result=asked)
    return todo if age is None else _age(todo, interrupted_at=age)


def make_parked(*, due_in: timedelta | None = None, result: Any = None, **fields: Any) -> Todo:
    """A failed todo that will be tried again `due_in` from now; a negative one is overdue."""
    todo = make_claimed(**fields)
    todo = transitions.fail(todo.endpoint, todo.pk, owner=todo.owner, result=result)
    assert todo.next_retry_at, "at its cap a todo is not parked"
    if due_in is None:
        return todo
    return _age(todo, next_retry_at=todo.next_retry_at - todo.updated_at - due_in)


def make_dead_letter(*, result: Any = None, **fields: Any) -> Todo:
    """A todo that failed in its last attempt."""
    todo = make_claimed(**{"max_attempts": 1} | fields)
    todo = transitions.fail(todo.endpoint, todo.pk, owner=todo.owner, result=result)
    assert todo.next_retry_at is None, "below its cap a todo is parked"
    return todo


def make_done(*, result: Any = None, **fields: Any) -> Todo:
    todo = make_claimed(**fields)
    return transitions.complete(todo.endpoint, todo.pk, owner=todo.owner, result=result)


def make_canceled(*, result: Any = None, **fields: Any) -> Todo:
    todo = make_pending(**fields)
    return transitions.cancel(todo.endpoint, todo.pk, result=result)


def make_rejected(*, result: Any = None, **fields: Any) -> Todo:
    todo = make_pending(**fields)
    return transitions.reject(todo.endpoint, todo.pk, result=result)


def _make_waiting_for_auth(**fields: Any) -> Todo:
    return make_waiting(state=State.AUTH_REQUIRED, **fields)


MAKERS: dict[str, Callable[..., Todo]] = {
    State.PENDING: make_pending,
    State.CLAIMED: make_claimed,
    State.INPUT_REQUIRED: make_waiting,
    State.AUTH_REQUIRED: _make_waiting_for_auth,
    PARKED: make_parked,
    DEAD: make_dead_letter,
    State.DONE: make_done,
    State.CANCELED: make_canceled,
    State.REJECTED: make_rejected,
}
"""A maker for each condition that a todo can be in; all take `create`'s arguments."""


def make(condition: str, **fields: Any) -> Todo:
    """A todo in a state, where `failed` is either PARKED or DEAD of todos.states."""
    todo = MAKERS[condition](**fields)
    assert todo.condition == condition
    return todo


def copies(todo: Todo, number: int) -> list[str]:
    """Copies a todo and its ledger so many times, by SQL; returns the new ids in order."""
    kept = _columns(Todo, but=("id", "title"))
    kept_ledger = _columns(Attempt, but=("id", "todo_id"))
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO todos (id, title, {kept})"
            f" SELECT 'td_' || gen_random_uuid(), 'copy ' || n, {kept}"
            " FROM todos, generate_series(1, %s) n WHERE id = %s RETURNING id",
            [number, todo.pk],
        )
        ids = sorted(todo_id for (todo_id,) in cursor.fetchall())
        cursor.execute(
            f"INSERT INTO todo_attempts (todo_id, {kept_ledger}) SELECT i.id, {kept_ledger}"
            " FROM todo_attempts, unnest(%s::text[]) i (id) WHERE todo_id = %s",
            [ids, todo.pk],
        )
    return ids


def _columns(model: type[Model], *, but: tuple[str, ...]) -> str:
    return ", ".join(f.attname for f in model._meta.concrete_fields if f.attname not in but)


def age(todo: Todo, **columns: timedelta) -> Todo:
    """Moves the named stamps of a todo that far into the past; returns it as it is then.

    Of the lease and the claim, the ledger's open entry keeps its own copy: it moves along.
    """
    shared = {"lease_expires_at", "claimed_at"} & columns.keys()
    _move_back("todos", "id = %(todo)s", todo, columns)
    if shared:
        of_attempt = {name: columns[name] for name in sorted(shared)}
        _move_back("todo_attempts", "ended_at IS NULL AND todo_id = %(todo)s", todo, of_attempt)
    return Todo.objects.get(pk=todo.pk)


_age = age


def _move_back(table: str, where: str, todo: Todo, columns: dict[str, timedelta]) -> None:
    moves = ", ".join(f"{name} = {name} - %({name})s::interval" for name in columns)
    params: dict[str, Any] = {**columns, "todo": todo.pk}
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET {moves} WHERE {where}", params)


def lapse(todo: Todo, ago: timedelta = timedelta(seconds=1)) -> Todo:
    """The lease of a held todo ran out that long ago, by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT lease_expires_at - statement_timestamp() FROM todos WHERE id = %s", [todo.pk]
        )
        (left,) = cursor.fetchone()
    return age(todo, lease_expires_at=left + ago)


def ledger(todo: Todo | str) -> list[Attempt]:
    """The attempts of a todo that are kept, oldest first."""
    todo_id = todo if isinstance(todo, str) else todo.pk
    return list(Attempt.objects.filter(todo_id=todo_id).order_by("seq"))


def endings(todo: Todo | str) -> list[tuple[str | None, str | None, str | None]]:
    """How each kept attempt ended, oldest first: outcome, disposition, ended_from."""
    return [(a.outcome, a.disposition, a.ended_from) for a in ledger(todo)]


OPEN = (None, None, None)
"""What `endings` says of an open attempt."""

_BROKEN_ROWS = """
SELECT t.id, concat('1: ', t.state, ' with ', open.n, ' open attempts')
FROM todos t
CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM todo_attempts a WHERE a.todo_id = t.id AND a.ended_at IS NULL
) open
WHERE open.n <> (t.state IN ('claimed', 'input-required', 'auth-required'))::int
UNION ALL
SELECT t.id, concat('2: ', t.state, ', owner ', t.owner, ', lease ', t.lease_expires_at,
                    ', interrupted_at ', t.interrupted_at)
FROM todos t
WHERE num_nulls(t.owner, t.lease_expires_at)
      <> CASE WHEN t.state IN ('claimed', 'input-required', 'auth-required') THEN 0 ELSE 2 END
   OR (t.interrupted_at IS NULL) = (t.state IN ('input-required', 'auth-required'))
UNION ALL
SELECT t.id, concat('3: attempts_total ', t.attempts_total, ', pruned ', t.attempts_pruned)
FROM todos t
WHERE t.attempts_total <> t.attempts_pruned
      + (SELECT count(*) FROM todo_attempts a WHERE a.todo_id = t.id)
UNION ALL
SELECT t.id, concat('5: ', t.state, ' although its endpoint''s revocation has finished')
FROM todos t JOIN endpoints e ON e.id = t.endpoint_id
WHERE e.revocation_finished_at IS NOT NULL
  AND (t.state IN ('pending', 'claimed', 'input-required', 'auth-required')
       OR (t.state = 'failed' AND t.next_retry_at IS NOT NULL))
"""


def assert_invariants() -> None:
    """Invariants 1, 2, 3 and 5 of the domain hold for every row."""
    with connection.cursor() as cursor:
        cursor.execute(_BROKEN_ROWS)
        broken = cursor.fetchall()
    assert not broken, broken
