"""What a transition did, seen from outside: columns and ledger by SQL, hooks by listening."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.test import TestCase

from todos import hooks
from todos.models import Todo

Row = dict[str, Any]

NOW = timedelta(0)
"""A stamp that is the moment of the statement itself; see `Seen`."""


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def clock() -> datetime:
    """The database's clock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    assert isinstance(now, datetime)
    return now


def rows(query: str, params: list[Any] | None = None) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(query, params)
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def row(todo: Todo | str) -> Row:
    """Every column of a todo; its documents as PostgreSQL writes them."""
    todo_id = todo if isinstance(todo, str) else todo.pk
    (found,) = rows(
        "SELECT t.*, t.payload::text AS payload, t.result::text AS result FROM todos t"
        " WHERE t.id = %s",
        [todo_id],
    )
    return found


def entries(todo: Todo | str) -> dict[int, Row]:
    """Every column of every kept attempt of a todo, by `seq`."""
    todo_id = todo if isinstance(todo, str) else todo.pk
    found = rows("SELECT * FROM todo_attempts WHERE todo_id = %s", [todo_id])
    return {entry["seq"]: entry for entry in found}


def everything() -> list[str]:
    """All that is stored, to show that nothing was written."""
    tables = ("endpoints", "todos", "todo_attempts", "todo_attempt_tallies", "settings")
    query = " UNION ALL ".join(f"SELECT '{name} ' || r::text AS r FROM {name} r" for name in tables)
    return sorted(found["r"] for found in rows(query))


@contextmanager
def heard() -> Iterator[list[tuple[str, str]]]:
    """The hooks that are sent meanwhile, as (todo id, event) and (todo id, "ready: reason").

    Inside a transaction of the test's own, they are sent at the end of the block.
    """
    sent: list[tuple[str, str]] = []

    def on_transition(todo: Todo, event: str, **_: Any) -> None:
        sent.append((todo.pk, str(event)))

    def on_ready(todo: Todo, reason: str, **_: Any) -> None:
        sent.append((todo.pk, f"ready: {reason}"))

    hooks.todo_transitioned.connect(on_transition)
    hooks.todo_ready.connect(on_ready)
    try:
        with _committing():
            yield sent
    finally:
        hooks.todo_transitioned.disconnect(on_transition)
        hooks.todo_ready.disconnect(on_ready)


@dataclass
class Seen:
    """The columns that changed, and the hooks of the todo.

    A stamp is told by its distance from the moment of the statement: NOW, or seconds(300) for a
    lease of five minutes. There is only one such moment, by the database's clock, or it is an
    error.
    """

    columns: Row = field(default_factory=dict)
    attempts: dict[int, Row] = field(default_factory=dict)
    hooks: list[str] = field(default_factory=list)


@contextmanager
def watch(todo: Todo) -> Iterator[Seen]:
    """See what is done to a todo meanwhile; the answer is complete once the block has ended."""
    seen = Seen()
    before, ledger_before, began = row(todo), entries(todo), clock()
    with heard() as sent:
        yield seen
    columns = _changes(before, row(todo))
    attempts = {
        seq: changes
        for seq, entry in entries(todo).items()
        if (changes := _changes(ledger_before.get(seq, {}), entry))
    }
    moment = _moment([columns, *attempts.values()], began, clock())
    seen.columns = _since(moment, columns)
    seen.attempts = {seq: _since(moment, changes) for seq, changes in attempts.items()}
    seen.hooks = [event for todo_id, event in sent if todo_id == todo.pk]


@contextmanager
def _committing() -> Iterator[None]:
    if not connection.in_atomic_block:
        yield
        return
    with TestCase.captureOnCommitCallbacks(execute=True):
        yield


def _changes(before: Row, after: Row) -> Row:
    missing = object()
    return {name: value for name, value in after.items() if before.get(name, missing) != value}


def _moment(changes: list[Row], began: datetime, ended: datetime) -> datetime | None:
    stamps = {v for found in changes for v in found.values() if isinstance(v, datetime)}
    moments = {stamp for stamp in stamps if began <= stamp <= ended}
    assert len(moments) <= 1, f"more than one clock: {moments}"
    return next(iter(moments), None)


def _since(moment: datetime | None, changes: Row) -> Row:
    return {
        name: value - moment if moment and isinstance(value, datetime) else value
        for name, value in changes.items()
    }
