"""The states of a todo and the table of transitions between them (the domain: Transitions).

`docs/states.md` draws this table; a test compares the two.
"""

from dataclasses import dataclass

from django.db.models import TextChoices


class State(TextChoices):
    PENDING = "pending"
    """Waits for a worker. Any claim takes it; a crash of anybody changes nothing."""

    CLAIMED = "claimed"
    """Held under a lease. If the holder dies, the lease lapses and the reaper, or the next
    claim, puts the todo back (or dead-letters it at the cap)."""

    INPUT_REQUIRED = "input-required"
    """Held, and waiting for a client's answer. If nobody answers, the wait lapses after the
    interrupt TTL and the reaper puts the todo back (or dead-letters it at the cap)."""

    AUTH_REQUIRED = "auth-required"
    """Held, and waiting for an authorization. It lapses as `input-required` does."""

    FAILED = "failed"
    """A parked retry while `next_retry_at` is set: the sweep, or the next claim, takes it once
    that is past. Without it a dead letter: only a human's retry brings it back."""

    DONE = "done"
    """Completed by its holder; final."""

    CANCELED = "canceled"
    """Ended by a client or an operator; final."""

    REJECTED = "rejected"
    """Refused before anybody claimed it; final."""


INTERRUPT_STATES = (State.INPUT_REQUIRED, State.AUTH_REQUIRED)
HELD_STATES = (State.CLAIMED, *INTERRUPT_STATES)
ENDED_STATES = (State.DONE, State.CANCELED, State.REJECTED)

PARKED = "failed, parked"
"""`failed` with `next_retry_at` set: live work."""

DEAD = "failed, dead letter"
"""`failed` without `next_retry_at`: no further try without a human."""

LIVE = (State.PENDING, *HELD_STATES, PARKED)


@dataclass(frozen=True)
class Transition:
    """One row of the table: who moves a todo by it, from which conditions to which."""

    name: str
    actor: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]


def _table(*rows: Transition) -> dict[str, Transition]:
    return {row.name: row for row in rows}


TRANSITIONS = _table(
    Transition("create", "client", (), (State.PENDING,)),
    Transition("reject", "client", (State.PENDING,), (State.REJECTED,)),
    Transition("claim", "worker", (State.PENDING, State.CLAIMED, PARKED), (State.CLAIMED,)),
    Transition("heartbeat", "worker", (State.CLAIMED,), (State.CLAIMED,)),
    Transition("complete", "worker", (State.CLAIMED,), (State.DONE,)),
    Transition("fail", "worker", (State.CLAIMED,), (PARKED, DEAD)),
    Transition("release", "worker", (State.CLAIMED,), (State.PENDING,)),
    Transition("interrupt", "worker", (State.CLAIMED,), INTERRUPT_STATES),
    Transition("resume", "client", INTERRUPT_STATES, (State.CLAIMED,)),
    Transition("cancel", "client", LIVE, (State.CANCELED,)),
    Transition("retry", "operator", (PARKED, DEAD), (State.PENDING,)),
    Transition("due retry", "reaper", (PARKED,), (State.PENDING,)),
    Transition("reap lapsed lease", "reaper", (State.CLAIMED,), (State.PENDING, DEAD)),
    Transition("reclaim lapsed wait", "reaper", INTERRUPT_STATES, (State.PENDING, DEAD)),
    Transition("reclaim now", "operator", INTERRUPT_STATES, (State.PENDING, DEAD)),
    Transition("revoke endpoint", "operator", LIVE, (DEAD,)),
)


class Outcome(TextChoices):
    """Why an attempt ended (the domain: The attempt ledger)."""

    COMPLETED = "completed"
    FAILED = "failed"
    RELEASED = "released"
    CANCELED = "canceled"
    REVOKED = "revoked"
    LEASE_EXPIRED = "lease_expired"
    REAPED = "reaped"


DIED = (Outcome.LEASE_EXPIRED, Outcome.REAPED)
"""Outcomes whose holder never reported."""


class Disposition(TextChoices):
    """Where the end of an attempt left its todo (the domain: The attempt ledger)."""

    DONE = "done"
    RETRY_SCHEDULED = "retry_scheduled"
    DEAD_LETTERED = "dead_lettered"
    REQUEUED = "requeued"
    CANCELED = "canceled"
