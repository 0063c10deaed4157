"""Retention (the domain: Settings): what has ended goes after a while, with its attempts.

Live todos never go, interrupt states and parked retries included. Boundaries are fixed once per
run, so that runs side by side never take more than one alone would.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from settings_app import reading
from todos.batches import drain, in_batches
from todos.sql import fetch_all, fetch_one


@dataclass
class PruneResult:
    """How many rows a run deleted, and whether no part of it failed."""

    by_age: int = 0
    by_count: int = 0
    dead_letters: int = 0
    attempts: int = 0
    good: bool = True

    @property
    def todos(self) -> int:
        return self.by_age + self.by_count + self.dead_letters


Progress = Callable[[PruneResult], None]


def prune(*, seconds: float | None = None, progress: Progress | None = None) -> PruneResult:
    """Delete what the three retention settings say, for at most so many seconds.

    `progress` is called after each batch with what was deleted so far.
    """
    result = PruneResult()
    end = None if seconds is None else time.monotonic() + seconds

    def time_is_up() -> bool:
        if progress:
            progress(result)
        return end is not None and time.monotonic() >= end

    _, result.good = drain(
        ("retention by age", _by_age(result)),
        ("retention by count", _by_count(result)),
        ("retention of dead letters", _dead_letters(result)),
        until=time_is_up,
    )
    return result


def _by_age(result: PruneResult) -> Iterator[int]:
    days = reading.retention_max_age_days()
    if days is not None:
        yield from _pruned(result, "by_age", "prune_ended", "peek_ended", _days_ago(days))


def _by_count(result: PruneResult) -> Iterator[int]:
    rows = reading.retention_max_rows()
    boundary = None if rows is None else fetch_one("prune_boundary", {"rows": rows})
    if boundary is not None:
        yield from _pruned(result, "by_count", "prune_ended", "peek_ended", boundary[0])


def _dead_letters(result: PruneResult) -> Iterator[int]:
    days = reading.dead_letter_max_age_days()
    if days is not None:
        yield from _pruned(result, "dead_letters", "prune_dead", "peek_dead", _days_ago(days))


def _days_ago(days: int) -> datetime:
    moment: datetime
    ((moment,),) = fetch_all("prune_age", {"days": days})
    return moment


def _pruned(
    result: PruneResult, kind: str, statement: str, peek: str, before: datetime
) -> Iterator[int]:
    attempts = 0

    def take(limit: int, passed_over: list[str]) -> list[tuple[Any, ...]]:
        nonlocal attempts
        params = {"before": before, "limit": limit, "passed_over": passed_over}
        rows = fetch_all(statement, params)
        attempts = rows[0][2] if rows else 0
        return rows

    def look(passed_over: list[str]) -> list[tuple[Any, ...]]:
        return fetch_all(peek, {"before": before, "limit": 1, "passed_over": passed_over})

    for count in in_batches(take, look):
        setattr(result, kind, getattr(result, kind) + count)
        if count:
            result.attempts += attempts
        yield count
