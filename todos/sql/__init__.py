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


class _Session(threading.local):
    """This thread's connection and, of its statements, the cursor: kept for the next one.

    A new cursor would look up again how to read each column: as long as a primary key's look-up.
    """

    def __init__(self) -> None:
        self.database = connections[DEFAULT_DB_ALIAS]
        self.cursor: Any = None

    def run(self, name: str, params: dict[str, Any]) -> CursorWrapper:
        database = self.database
        database.close_if_health_check_failed()
        database.ensure_connection()
        if self.cursor is None or self.cursor.connection is not database.connection:
            self.cursor = database.connection.cursor()
            # Written in C, and of the same answer as Django's: its sessions are in UTC.
            self.cursor.adapters.register_loader("timestamptz", TimestamptzLoader)
        wrap = database.make_debug_cursor if database.queries_logged else database.make_cursor
        cursor: CursorWrapper = wrap(self.cursor)
        cursor.execute(statement(name), params)
        return cursor


_session = _Session()


def fetch_all(name: str, params: dict[str, Any]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = _session.run(name, params).fetchall()
    return rows


def fetch_one(name: str, params: dict[str, Any]) -> tuple[Any, ...] | None:
    row: tuple[Any, ...] | None = _session.run(name, params).fetchone()
    return row


def execute(name: str, params: dict[str, Any]) -> int:
    """Run a statement and say how many rows it wrote."""
    return int(_session.run(name, params).rowcount)
