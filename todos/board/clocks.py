"""The clock that matters for a todo of the board, and why a dead letter is one."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from todos.board.lanes import Card
from todos.states import INTERRUPT_STATES, Outcome, State

_UNANSWERED = "nobody answered in time"
_LAPSED = "its lease lapsed at the last attempt"


@dataclass(frozen=True)
class Clock:
    """A moment, and the words around the time until it, or since it, as the page counts them."""

    before: str
    at: datetime | None = None
    counts: str = "until"
    """`until` or `since`."""
    past: str = ""
    """Of `until`: what is said instead of `before` once the moment is past."""
    then: str = ""
    """What is said after it once it is past."""

    @property
    def moment(self) -> str:
        """The words before the moment itself, where nothing counts."""
        return f"{self.before.removesuffix(' in')} at" if self.counts == "until" else "since"

    @property
    def milliseconds(self) -> int:
        return 0 if self.at is None else round(self.at.timestamp() * 1_000)


def clock_of(card: Card, ttl: timedelta | None) -> Clock:
    """What happens next to a todo, and when; else since when it is as it is."""
    if not card.endpoint_is_active and card.completed_at is None:
        return Clock("its endpoint has ended: a dead letter at the next tick")
    if card.state in INTERRUPT_STATES:
        return _end_of_wait(card.interrupted_at, ttl)
    if card.state == State.CLAIMED:
        return Clock(
            "lease lapses in", card.lease_expires_at, past="lease lapsed", then="due to be reaped"
        )
    if card.next_retry_at is not None:
        return Clock("retry in", card.next_retry_at, past="retry due", then="due to go back")
    if card.state == State.PENDING:
        return Clock("pending for", card.created_at, counts="since")
    return Clock("", card.completed_at, counts="since", then="ago")


def _end_of_wait(interrupted_at: datetime | None, ttl: timedelta | None) -> Clock:
    if ttl is None:
        return Clock("no deadline: waits are not reclaimed")
    if interrupted_at is None:
        return Clock("its clock starts at the next tick")
    try:
        end = interrupted_at + ttl
    except OverflowError:
        return Clock("no deadline that a calendar has")
    return Clock("reclaimed in", end, past="overdue", then="reclaimed at the next tick")


def why_dead(card: Card) -> str:
    if card.outcome == Outcome.FAILED:
        return "its worker failed at the last attempt"
    if card.outcome == Outcome.REAPED:
        return _UNANSWERED if card.ended_from in INTERRUPT_STATES else _LAPSED
    return "its endpoint was revoked or expired"
