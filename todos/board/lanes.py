"""What the board shows, read in one snapshot of the database: lanes, and waits reclaimed lately.

However many todos there are, a lane looks at a bound of them along its index.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction

from settings_app import reading
from todos.sql import fetch_all, fetch_one

SHOWN = 50
"""How many cards a lane has at most."""

COUNTED = 5_000
"""How far a lane is counted."""

LOOKED_THROUGH = 20_000
"""How many todos of a lane are looked through for those of a filter."""

PLACES = 2_000
"""In how many queues of endpoints the pending todos of a filter are looked for."""

RECLAIMS_SHOWN = 200


@dataclass(frozen=True)
class Filters:
    """Which todos a board is about; None: all of them."""

    endpoint: UUID | None = None
    queue: str | None = None

    def __bool__(self) -> bool:
        return self.endpoint is not None or self.queue is not None


class Card(NamedTuple):
    """One todo of a lane, in the order of `sql/fragments/lane.sql`."""

    id: str
    state: str
    title: str
    queue: str
    endpoint: str
    endpoint_is_active: bool
    owner: str | None
    attempt: int
    max_attempts: int
    created_at: datetime
    claimed_at: datetime | None
    lease_expires_at: datetime | None
    interrupted_at: datetime | None
    next_retry_at: datetime | None
    completed_at: datetime | None
    claimant: str | None
    outcome: str | None
    ended_from: str | None


class Reclaim(NamedTuple):
    """A wait that was reclaimed; `waited_since` None: a release before this one reclaimed it."""

    attempt_id: int
    todo_id: str
    title: str
    queue: str
    attempt: int
    max_attempts: int
    dead_lettered: bool
    waited_since: datetime | None
    ended_at: datetime


@dataclass(frozen=True)
class LaneKind:
    name: str
    title: str
    order: str
    """Of its cards, in words; also what is not shown when there are more."""
    by_age: bool = False
    """Whether that order begins with the oldest."""


KINDS = (
    LaneKind("pending", "Pending", "the oldest first", by_age=True),
    LaneKind("claimed", "Claimed", "the lease that lapses first, first"),
    LaneKind("waiting", "Waiting", "the longest waiting first", by_age=True),
    LaneKind("parked", "Parked retry", "the next retry first"),
    LaneKind("dead", "Dead letter", "the latest first"),
    LaneKind("done", "Done, last 24 h", "the latest first"),
)


@dataclass(frozen=True)
class Lane:
    kind: LaneKind
    total: int
    """How many todos belong to it, as far as they were looked for."""
    cut: bool
    """Whether there may be more than that."""
    oldest: datetime | None
    """Since when the oldest of those is in its state."""
    cards: tuple[Card, ...]

    @property
    def more(self) -> int:
        return self.total - len(self.cards)


@dataclass(frozen=True)
class State:
    """All of the board at one moment of the database's clock."""

    now: datetime
    ttl: timedelta | None
    """After how long a wait is reclaimed; None: never."""
    lanes: tuple[Lane, ...]
    reclaims: tuple[Reclaim, ...]


def read(filters: Filters) -> State:
    """Raises DatabaseError."""
    # In one snapshot, or a todo that moves meanwhile would be in two lanes, or in none.
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        row = fetch_one("now", {})
        assert row is not None  # noqa: S101
        ttl = reading.interrupt_lease_ttl()
        return State(row[0], ttl, tuple(_lanes(filters)), _reclaims(filters))


def _lanes(filters: Filters) -> Iterator[Lane]:
    window = LOOKED_THROUGH if filters else COUNTED
    for kind in KINDS:
        statement = "pending_filtered" if filters and kind.name == "pending" else kind.name
        params = _params(filters, shown=SHOWN, window=window + 1, places=PLACES)
        rows = fetch_all(f"board/{statement}", params)
        looked, total, oldest = rows[0][:3]
        cards = tuple(Card(*row[3:]) for row in rows if row[3] is not None)
        cut = looked > window
        # The one too many only says that there are more.
        yield Lane(kind, min(total, window), cut, oldest, cards)


def _reclaims(filters: Filters) -> tuple[Reclaim, ...]:
    params = _params(filters, shown=RECLAIMS_SHOWN, window=LOOKED_THROUGH if filters else COUNTED)
    return tuple(Reclaim(*row) for row in fetch_all("board/reclaims", params))


def _params(filters: Filters, **bounds: int) -> dict[str, Any]:
    return {"endpoint": filters.endpoint, "queue": filters.queue, **bounds}
