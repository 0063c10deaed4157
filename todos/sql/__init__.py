"""The statements: one per file, named after it, its edge, guard, lock and index in its header.

`{{name}}` stands for `fragments/name.sql`, a piece that several statements share.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

from django.db import connection

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


def fetch_all(name: str, params: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement(name), params)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows


def fetch_one(name: str, params: dict[str, Any]) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(statement(name), params)
        row: tuple[Any, ...] | None = cursor.fetchone()
        return row


def execute(name: str, params: dict[str, Any]) -> int:
    """Run a statement and say how many rows it wrote."""
    with connection.cursor() as cursor:
        cursor.execute(statement(name), params)
        return int(cursor.rowcount)
