"""Checks the invariants of the domain on every row, in one snapshot; writes nothing."""

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from django.db import connection, transaction

from todos import sql

CHECKS = sorted(path.stem for path in (Path(sql.HERE) / "doctor").glob("*.sql"))
"""The names of the checks: one statement each, which selects the rows that break it."""


@dataclass(frozen=True)
class Violation:
    check: str
    todo_id: str
    problem: str

    def __str__(self) -> str:
        return f"{self.check}: {self.todo_id} {self.problem}"


def examine() -> Generator[Violation]:
    """Every violation, check by check. Holds one read-only transaction while it is iterated."""
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        for check in CHECKS:
            for todo_id, problem in sql.fetch_all(f"doctor/{check}", {}):
                yield Violation(check, todo_id, problem)
