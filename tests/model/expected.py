"""The queue as the domain describes it, in memory: what every operation should do, or refuse.

It knows nothing of SQL. Time is a few flags: a lease has lapsed or not, a retry is due or not.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from todos.errors import EndpointInactive, TodoConflict, TodoNotFound
from todos.models import Endpoint
from todos.states import HELD_STATES, INTERRUPT_STATES

KEEP = 5
"""How many attempts of a todo are kept."""

DAY = timedelta(days=1)
Refusal = type[Exception] | None


@dataclass
class Desk:
    endpoint: Endpoint
    expired: bool = False
    revoked: bool = False

    @property
    def active(self) -> bool:
        return not self.expired and not self.revoked


@dataclass
class Entry:
    """One attempt; `end` is its outcome, disposition and ended_from."""

    attempt: int
    owner: str
    token: str | None
    end: tuple[str, str, str] | None = None


@dataclass
class Item:
    """One todo."""

    id: str
    desk: Desk
    queue: str
    key: str | None
    assignee: str | None
    max_attempts: int
    state: str = "pending"
    parked: bool = False
    owner: str | None = None
    attempt: int = 0
    result: Any = None
    entries: list[Entry] = field(default_factory=list)
    pruned: int = 0
    lapsed: bool = False
    due: bool = False
    waited: timedelta = timedelta()
    stamped: bool = True

    @property
    def held(self) -> bool:
        return self.state in HELD_STATES

    @property
    def waiting(self) -> bool:
        return self.state in INTERRUPT_STATES

    @property
    def live(self) -> bool:
        return self.state == "pending" or self.held or self.parked

    @property
    def at_cap(self) -> bool:
        return self.attempt >= self.max_attempts

    @property
    def claimable(self) -> bool:
        return (
            self.state == "pending"
            or (self.state == "claimed" and self.lapsed and not self.at_cap)
            or (self.parked and self.due)
        )

    def is_for(self, owner: str) -> bool:
        return self.assignee in (None, owner)

    def prior(self) -> list[int]:
        """The sequence numbers that a claim made now is told of."""
        closed = range(self.pruned + 1, len(self.entries) + 1)
        return list(reversed(closed))[:5]

    # What is refused, and how.

    def refuses_claim(self, caller: Endpoint | None, owner: str) -> Refusal:
        if self._is_hidden_from(caller):
            return TodoNotFound
        if not self.desk.active:
            return EndpointInactive
        mine = caller is None or self.is_for(owner)
        return None if self.claimable and mine else TodoConflict

    def refuses_holder(self, caller: Endpoint | None, owner: str, token: str | None) -> Refusal:
        if self._is_hidden_from(caller):
            return TodoNotFound
        if self.state != "claimed":
            return TodoConflict
        holds = self.owner == owner and self.entries[-1].token == token
        return None if caller is None or holds else TodoConflict

    def refuses_resume(self, caller: Endpoint | None, owner: str) -> Refusal:
        if self._is_hidden_from(caller):
            return TodoNotFound
        return None if self.waiting and (caller is None or self.owner == owner) else TodoConflict

    def refuses_end(self, caller: Endpoint | None, *, possible: bool) -> Refusal:
        if self._is_hidden_from(caller):
            return TodoNotFound
        return None if possible else TodoConflict

    def refuses_retry(self, caller: Endpoint | None, *, rival: bool) -> Refusal:
        if self._is_hidden_from(caller):
            return TodoNotFound
        if self.state == "failed" and not self.desk.active:
            return EndpointInactive
        return None if self.state == "failed" and not rival else TodoConflict

    def refuses_reclaim(self) -> Refusal:
        if not self.desk.active:
            return EndpointInactive
        return None if self.waiting else TodoConflict

    def _is_hidden_from(self, caller: Endpoint | None) -> bool:
        return caller is not None and caller.pk != self.desk.endpoint.pk

    # What happens.

    def claim(self, owner: str, token: str | None) -> None:
        if self.state == "claimed":
            self._close("lease_expired", "requeued")
        self._let_go("claimed")
        self.owner = owner
        self.attempt += 1
        self.entries.append(Entry(self.attempt, owner, token))
        self.pruned = max(self.pruned, len(self.entries) - KEEP)

    def heartbeat(self) -> None:
        self.lapsed = False

    def complete(self, result: Any) -> None:
        self._close("completed", "done")
        self._let_go("done", result)

    def fail(self, result: Any) -> None:
        self._close("failed", "dead_lettered" if self.at_cap else "retry_scheduled")
        parked = not self.at_cap
        self._let_go("failed", result)
        self.parked = parked

    def release(self) -> None:
        self._close("released", "requeued")
        self._let_go("pending", self.result)

    def interrupt(self, state: str, asked: Any) -> None:
        self.state, self.result = state, asked
        self.waited, self.stamped = timedelta(), True

    def resume(self, answer: Any, *, renewed: bool) -> None:
        self.state, self.stamped = "claimed", True
        if answer is not None:
            self.result = answer
        if renewed:
            self.lapsed = False

    def cancel(self, result: Any) -> None:
        if self.held:
            self._close("canceled", "canceled")
        self._let_go("canceled", result)

    def reject(self, result: Any) -> None:
        self._let_go("rejected", result)

    def retry(self) -> None:
        self._let_go("pending", self.result)
        self.attempt = 0

    def requeue(self) -> None:
        self._let_go("pending", self.result)

    def reap(self) -> None:
        """A lapsed lease or a wait is over: back to the queue, or at the cap a dead letter."""
        self._close("reaped", "dead_lettered" if self.at_cap else "requeued")
        if not self.at_cap:
            self._let_go("pending", self.result)
        elif self.waiting:
            self._let_go("failed", {"error": "interrupt_expired", "interrupt": self.result})
        else:
            self._let_go("failed", {"error": "lease_expired", "result": self.result})

    def revoke(self) -> None:
        if self.held:
            self._close("revoked", "dead_lettered")
        cause = "endpoint_expired" if self.desk.expired else "endpoint_revoked"
        self._let_go("failed", {"error": cause})

    def _close(self, outcome: str, disposition: str) -> None:
        self.entries[-1].end = (outcome, disposition, self.state)

    def _let_go(self, state: str, *result: Any) -> None:
        self.state, self.owner = state, None
        self.parked = self.due = self.lapsed = False
        self.stamped = True
        if result:
            (self.result,) = result
