"""The statements: one per file, named after it, its edge, guard, lock and index in its header.

`{{name}}` stands for `fragments/name.sql`, a piece that several statements share.
"""

import re
import threading
from functools import cache
from pathlib import Path
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.utils import CursorWrapper
from psycopg.types.datetime import TimestamptzLoader

HERE = Path(__file__).parent


@cache
def statement(name: str) -> str:
    """The text of `name.sql`, its fragments put in.

    Without comments and line ends: psycopg caches what it parsed of a statement only if that
    is short.
    """
    text = (HERE / f"{name}.sql").read_text()
    text = re.sub(r"\{\{(\w+)\}\}", lambda match: statement(f"fragments/{match[1]}"), text)
    lines = (line.partition("--")[0].strip() for line in text.splitlines())
    return " ".join(line for line in lines if line)


_kept = threading.local()


def _run(name: str, params: dict[str, Any]) -> CursorWrapper:
    """Run a statement on this thread's connection, on a cursor that is kept for the next one.

    A new cursor would look up again how to read each column: as long as a primary key's look-up.
    """
    database = connections[DEFAULT_DB_ALIAS]
    database.close_if_health_check_failed()
    database.ensure_connection()
    cursor = getattr(_kept, "cursor", None)
    if cursor is None or cursor.connection is not database.connection:
        cursor = _kept.cursor = database.connection.cursor()
        # Written in C, and of the same answer as Django's: its sessions are in UTC.
        cursor.adapters.register_loader("timestamptz", TimestamptzLoader)
    wrap = database.make_debug_cursor if database.queries_logged else database.make_cursor
    wrapper: CursorWrapper = wrap(cursor)
    wrapper.execute(statement(name), params)
    return wrapper


def fetch_all(name: str, params: dict[str, Any]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = _run(name, params).fetchall()
    return rows


def fetch_one(name: str, params: dict[str, Any]) -> tuple[Any, ...] | None:
    row: tuple[Any, ...] | None = _run(name, params).fetchone()
    return row


def execute(name: str, params: dict[str, Any]) -> int:
    """Run a statement and say how many rows it wrote."""
    return int(_run(name, params).rowcount)
