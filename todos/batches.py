"""Sweeping in bounded batches, each its own commit, however slow or spoiled some rows are.

No transaction is open between two batches.
"""

import logging
from collections.abc import Callable, Iterator
from typing import Any

from django.db import DatabaseError, connection, transaction
from psycopg.errors import QueryCanceled

from todos import hooks
from todos.errors import first_line
from todos.rows import light_todo_from
from todos.sql import fetch_all

logger = logging.getLogger(__name__)

MAX_SIZE = 500

Row = tuple[Any, ...]
Take = Callable[[int, list[str]], list[Row]]
"""Handles at most so many rows, none of those passed over; answers a row for each that it
found due, with its id in front and behind it the todo as written, or NULLs if it was not."""


def sweep(
    statement: str,
    peek: str,
    params: dict[str, Any],
    *,
    transition: str | None,
    waits: bool = False,
) -> Iterator[int]:
    """Run a sweep's statement until nothing is due; yields the number of todos of each batch.

    `peek` is the statement that finds the row which a batch of one would take. With `waits`, the
    third column says how long each wait had lasted, in seconds.
    """

    def take(limit: int, passed_over: list[str]) -> list[Row]:
        rows = fetch_all(statement, params | {"limit": limit, "passed_over": passed_over})
        if transition:
            announce(transition, rows, {row[0]: row[2] for row in rows} if waits else None)
        return rows

    def look(passed_over: list[str]) -> list[Row]:
        return fetch_all(peek, params | {"limit": 1, "passed_over": passed_over})

    return in_batches(take, look)


def announce(transition: str, rows: list[Row], waited: dict[str, float] | None = None) -> None:
    todos = [todo for row in rows if (todo := light_todo_from(row))]
    if todos:
        hooks.announce(transition, todos, waited)


def in_batches(take: Take, look: Callable[[list[str]], list[Row]]) -> Iterator[int]:
    """Call `take` until it finds less than it may; yields how many rows each call wrote.

    A batch that fails is halved and tried again at once, since a database on which whole batches
    time out would otherwise use up its turns without ever writing a row. A batch of one that
    still fails is logged with its id and passed over, and so is a row that was found due but not
    written.
    """
    size = largest = MAX_SIZE
    passed_over: list[str] = []
    while True:
        suspect: list[Row] = []
        try:
            with transaction.atomic():
                if size == 1:
                    suspect = look(passed_over)
                rows = take(size, passed_over)
        except DatabaseError as error:
            if (size == 1 and not suspect) or not connection.is_usable():
                raise
            if size == 1:
                passed_over.append(suspect[0][0])
                logger.error("passed over %s: %s", suspect[0][0], first_line(error))
                # It was this row, and not the size of the batch.
                largest = MAX_SIZE
                yield 0
                continue
            size //= 2
            if isinstance(error.__cause__, QueryCanceled):
                largest = size
            continue
        unwritten = [row[0] for row in rows if row[1] is None]
        for todo_id in unwritten:
            logger.error("passed over %s: no open attempt, see `manage.py doctor`", todo_id)
        passed_over += unwritten
        yield len(rows) - len(unwritten)
        if len(rows) < size:
            return
        size = min(size * 2, largest)


def drain(*sweeps: tuple[str, Iterator[int]], until: Callable[[], bool]) -> tuple[int, bool]:
    """Take turns between named sweeps, at least one batch each, until all are done or time is up.

    A sweep that fails is logged with its cause and stops no other. Returns how many rows were
    written and whether nothing failed.
    """
    written, good = 0, True
    waiting = list(sweeps)
    while waiting:
        for name, batches in list(waiting):
            try:
                written += next(batches)
            except StopIteration:
                waiting.remove((name, batches))
            except Exception:
                logger.exception("sweep failed: %s", name)
                waiting.remove((name, batches))
                good = False
                if not connection.in_atomic_block:
                    connection.close_if_unusable_or_obsolete()
        if until():
            break
    return written, good
