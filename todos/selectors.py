"""Reads that are shown to people; none of them decides a transition."""

from datetime import timedelta
from typing import NamedTuple

from todos.sql import fetch_all


class Prospect(NamedTuple):
    """How many todos of one queue a tick would move, why and where to."""

    cause: str
    queue: str
    outcome: str
    todos: int


def tick_prospects(ttl: timedelta | None) -> list[Prospect]:
    """What a tick under this interrupt TTL (None: the sweep is off) would do now."""
    seconds = None if ttl is None else ttl // timedelta(seconds=1)
    return [Prospect(*row) for row in fetch_all("would_do", {"ttl": seconds})]
