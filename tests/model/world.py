"""What a run of the state machine has at hand: the desks, the todos, and what sweeps should do."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from django.db import connection
from hypothesis.stateful import RuleBasedStateMachine

from settings_app.models import Setting
from tests.model.actual import assert_tallies
from tests.model.expected import DAY, KEEP, Desk, Item, Refusal
from todos import endpoints
from todos.errors import SwitchboardError
from todos.models import Endpoint, Todo

T = TypeVar("T")

reached: Counter[str] = Counter()
"""How often the runs came to what is worth coming to."""

QUEUES = ["inbox", "reviews"]
HERE, THERE, OPERATOR = "here", "there", "operator"
RIGHT, WRONG, MISSING = "right", "wrong", "missing"
TTLS: dict[str, timedelta | None] = {"0": None, "60": timedelta(minutes=1), "24h": DAY}

_EMPTY = """
WITH attempts AS (DELETE FROM todo_attempts), tallies AS (DELETE FROM todo_attempt_tallies),
     todos AS (DELETE FROM todos), endpoints AS (DELETE FROM endpoints),
     counters AS (DELETE FROM todo_counters)
DELETE FROM settings
"""


class World(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        Setting.objects.create(key="attempt_history_max_per_todo", value=str(KEEP))
        self.desks: list[Desk] = []
        self.items: list[Item] = []
        self.ttl: timedelta | None = DAY

    def teardown(self) -> None:
        try:
            assert_tallies(self.items)
        finally:
            # Not rolled back: that would make the connection forget what it has prepared.
            with connection.cursor() as cursor:
                cursor.execute(_EMPTY)

    def end_desk(self, place: int, *, revoked: bool) -> None:
        desk = self.desks[place]
        if revoked:
            assert endpoints.revoke(desk.endpoint).revocation_finished_at
            self.revoked(place)
        elif desk.active:
            past = Endpoint.objects.filter(pk=desk.endpoint.pk)
            past.update(expires_at=desk.endpoint.created_at)
            desk.expired = True

    def revoked(self, place: int) -> None:
        """All that was live there is a dead letter; another desk takes the place."""
        desk, self.desks[place] = self.desks[place], vend()
        live = [item for item in self.items if item.desk is desk and item.live]
        reached["expiry" if desk.expired else "revoke"] += any(item.held for item in live)
        for item in live:
            item.revoke()
        desk.revoked = True

    def reaped_leases(self) -> int:
        return self.reap("lease", lambda item: item.state == "claimed" and item.lapsed)

    def reaped_waits(self) -> int:
        for item in self.items:
            if item.waiting and not item.stamped:
                reached["stamp"] += 1
                item.stamped, item.waited = True, timedelta()
        ttl = self.ttl
        if ttl is None:
            return 0
        return self.reap("wait", lambda item: item.waiting and item.waited > ttl)

    def reap(self, what: str, lapsed: Callable[[Item], bool]) -> int:
        due = [item for item in self.items if item.desk.active and lapsed(item)]
        for item in due:
            reached[f"{what} at the cap" if item.at_cap else what] += 1
            item.reap()
        return len(due)

    def requeued(self) -> int:
        due = [item for item in self.items if item.parked and item.due and item.desk.active]
        for item in due:
            reached["retry"] += 1
            item.requeue()
        return len(due)

    def item(self, pick: int, wanted: Callable[[Item], bool]) -> Item:
        """Mostly one that is wanted, else any."""
        fitting = [item for item in self.items if wanted(item)]
        some = fitting if fitting and pick != 11 else self.items
        return some[-1 - pick % len(some)]

    def some(self, wanted: Callable[[Item], bool]) -> bool:
        return any(map(wanted, self.items))

    def endpoint(self, caller: str, item: Item) -> Endpoint | None:
        if caller == OPERATOR:
            return None
        if caller == HERE:
            return item.desk.endpoint
        return next(desk.endpoint for desk in self.desks if desk is not item.desk)

    def live_with_key(self, desk: Desk, key: str | None) -> Item | None:
        live = (i for i in self.items if i.desk is desk and i.key == key and i.live)
        return next(live, None) if key else None

    def expect(self, refusal: Refusal, call: Callable[[], T]) -> T | None:
        """What the call answers, or None: it was refused, as it should be."""
        answer, error = None, None
        try:
            answer = call()
        except SwitchboardError as refused:
            error = refused
        assert refusal is (error and type(error)), error or answer
        return answer

    def done(self, item: Item, todo: Todo | None, change: Callable[[], None]) -> None:
        """Unless it was refused: what was done happens to the model, too."""
        if todo is not None:
            change()
            assert (todo.pk, todo.state, todo.owner) == (item.id, item.state, item.owner)


def claimed_now(item: Item) -> bool:
    return item.state == "claimed"


def waiting(item: Item) -> bool:
    return item.waiting


def waits_for_others(item: Item) -> bool:
    return item.waiting or item.parked


def has_a_clock(item: Item) -> bool:
    return item.held or item.parked


def vend() -> Desk:
    return Desk(endpoints.vend(name="desk", queues=QUEUES)[0])


def owner_for(holder: str, item: Item) -> str:
    return (item.owner or "ada") if holder == RIGHT else "nobody"


def move(item: Item, column: str, ago: timedelta | None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE todos SET {column} = statement_timestamp() - %s::interval WHERE id = %s",
            [None if ago is None else str(ago.total_seconds()) + " s", item.id],
        )
