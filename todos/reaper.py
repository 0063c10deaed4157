"""The reaper (ADR-0046): lapsed leases, lapsed waits, due retries, ended endpoints.

`tick_if_due` is what the beat runs; the other functions run whenever they are called.
"""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from settings_app import reading
from todos import endpoints, hooks, inputs
from todos.batches import drain, sweep
from todos.errors import EndpointInactive
from todos.models import Todo
from todos.rows import todo_from
from todos.sql import execute, fetch_one
from todos.transitions._run import refusal, run

logger = logging.getLogger(__name__)

TICK_BUDGET_SECONDS = 20


@dataclass(frozen=True)
class Tick:
    """What one tick did; `good`: without an error."""

    reaped: int
    requeued: int
    revoked: int
    good: bool


def tick_if_due() -> Tick | None:
    """A tick, unless the last good one began less than 15 s ago by the database's clock."""
    return None if fetch_one("tick_is_recent", {}) == (True,) else tick()


def tick() -> Tick:
    """Reap, requeue due retries, end endpoints: each goes on where another one fails."""
    began = time.monotonic()
    time_is_up = _budget()
    reaped, reaped_well = _reap_expired(time_is_up)
    requeued, requeued_well = drain(("due retries", _due_retries()), until=time_is_up)
    revoked, revoked_well = endpoints.finish_revocations(time_is_up)
    _, counted_well = drain(("counters", _counters()), until=time_is_up)
    good = reaped_well and requeued_well and revoked_well and counted_well
    if good:
        execute("tick_succeeded", {"took": time.monotonic() - began})
    _log(reaped=reaped, requeued=requeued, revoked=revoked)
    return Tick(reaped, requeued, revoked, good)


def reap_expired() -> int:
    """Reap lapsed leases, then lapsed waits; returns how many todos of both."""
    reaped, _ = _reap_expired(_budget())
    _log(reaped=reaped)
    return reaped


def reap_interrupted() -> int:
    """Reclaim lapsed waits; returns how many."""
    return drain(*_waits(), until=_budget())[0]


def requeue_due_retries() -> int:
    """Put parked retries that are due back to pending; returns how many."""
    return drain(("due retries", _due_retries()), until=_budget())[0]


def reclaim_now(todo_id: str) -> Todo:
    """Reclaim one wait, whatever its age: an operator's. Raises TodoNotFound, TodoConflict."""
    params = {
        "endpoint": None,
        "id": inputs.todo_id(todo_id),
        "why": f"reclaimed by an operator, {_in_words(reading.interrupt_lease_ttl())}",
    }
    found, row = run("reclaim_now", params)
    if todo := todo_from(row):
        hooks.announce("reclaim now", [todo], {todo.pk: row[5]})
        return todo
    if row[4] is False:
        raise EndpointInactive
    raise refusal("reclaim now", found, None)


def _reap_expired(time_is_up: Callable[[], bool]) -> tuple[int, bool]:
    return drain(
        ("lapsed leases", sweep("reap_leases", "peek_leases", {}, transition="reap lapsed lease")),
        *_waits(),
        until=time_is_up,
    )


def _log(*, reaped: int, **others: int) -> None:
    """One line if anything was done; the ADR's own words for what it is about."""
    done = {"count": reaped} | others
    done = {name: number for name, number in done.items() if number}
    if done:
        what = "reaped expired leases" if reaped else "ticked"
        logger.info(f"{what} {' '.join(f'{name}=%({name})d' for name in done)}", done)


def _waits() -> list[tuple[str, Iterator[int]]]:
    # Two sweeps, so that however slow the stamping is, each tick reclaims a batch.
    return [("unstamped waits", _unstamped_waits()), ("lapsed waits", _lapsed_waits())]


def _unstamped_waits() -> Iterator[int]:
    for _ in sweep("stamp_waits", "peek_stamps", {}, transition=None):
        yield 0


def _lapsed_waits() -> Iterator[int]:
    ttl = reading.interrupt_lease_ttl()
    if ttl is not None:
        params = {"ttl": ttl // timedelta(seconds=1), "why": f"reclaimed, {_in_words(ttl)}"}
        yield from sweep(
            "reclaim_waits", "peek_waits", params, transition="reclaim lapsed wait", waits=True
        )


def _due_retries() -> Iterator[int]:
    return sweep("requeue_due", "peek_retries", {}, transition="due retry")


def _counters() -> Iterator[int]:
    execute("counters_compact", {})
    yield 0


def _in_words(ttl: timedelta | None) -> str:
    if ttl is None:
        return "under no interrupt TTL"
    return f"under an interrupt TTL of {ttl // timedelta(seconds=1)} s"


def _budget() -> Callable[[], bool]:
    end = time.monotonic() + TICK_BUDGET_SECONDS
    return lambda: time.monotonic() >= end
