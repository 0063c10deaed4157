"""Reads that are shown to people; none of them decides a transition.

A list is the ids that one statement of `sql/lists` finds: however many rows there are, it reads at
most a bound of them along an index, and nothing is counted.
"""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from settings_app import reading
from todos import inputs
from todos.errors import TodoNotFound
from todos.models import Attempt, Endpoint, Todo
from todos.rows import light_todo_from
from todos.sql import fetch_all, fetch_one
from todos.states import DIED, INTERRUPT_STATES, Outcome, State

LISTED = 1_000
"""How many rows a list has at most."""

LOOKED_THROUGH = 5_000
"""How many rows a list looks through for what no index tells apart."""

SEARCHED = 2_000
"""How many hits of a search are looked through for a state and a queue; they lie scattered."""

COUNTED = 5_000
"""How far live todos are counted."""

MAX_QUEUES = 200

PARKED, DEAD, WAITING = "parked", "dead", "waiting"
CONDITIONS = (
    State.PENDING,
    State.CLAIMED,
    WAITING,
    *INTERRUPT_STATES,
    PARKED,
    DEAD,
    State.DONE,
    State.CANCELED,
    State.REJECTED,
)
"""What lists of todos tell apart."""

OLDEST_FIRST = (State.PENDING, WAITING, *INTERRUPT_STATES)
"""What is listed from its oldest on, within a queue."""

OPEN, DIED_ATTEMPTS = "open", "died"
ENDINGS = (OPEN, DIED_ATTEMPTS, *Outcome)
"""What lists of attempts tell apart."""


_ABOVE_ALL_IDS = "te"

_LIKE_AN_ID = re.compile("(td_)?[0-9a-f-]*")


class Prospect(NamedTuple):
    """How many todos of one queue a tick would move, why and where to."""

    cause: str
    queue: str
    outcome: str
    todos: int


class WaitGroup(NamedTuple):
    """Waits of one queue, one outcome and one range of ages; which of them are due."""

    queue: str
    at_cap: bool
    bucket: int
    """How many of the edges their age has reached."""
    waits: int
    due_before: int
    due_after: int
    oldest_seconds: float


class OldestWait(NamedTuple):
    id: str
    queue: str
    owner: str | None


class Waits(NamedTuple):
    """All waits that a sweep may take, at `now` by the database's clock."""

    now: datetime
    oldest: OldestWait | None
    groups: list[WaitGroup]
    exempt: int
    """How many more belong to inactive endpoints: their end is the revocation's."""


class Found(NamedTuple):
    """The ids of a list in its order, and whether there are more than it may have."""

    ids: list[Any]
    more: bool


class Deadline(NamedTuple):
    """When a wait lapses, seen at `now` by the database's clock; `at` None: never."""

    now: datetime
    at: datetime | None
    overdue: bool
    endpoint_is_active: bool


def waits_under(
    before: timedelta | None, after: timedelta | None, edges: Sequence[int] = ()
) -> Waits:
    """All waits of active endpoints, and which are due under either TTL (None: none is).

    Their ages are told apart by `edges`, in seconds and rising.
    """
    params = {"before": _seconds(before), "after": _seconds(after), "edges": list(edges)}
    rows = fetch_all("ttl_effect", params)
    now, oldest_id, oldest_queue, owner = rows[0][:4]
    oldest = None if oldest_id is None else OldestWait(oldest_id, oldest_queue, owner)
    groups = [WaitGroup(*row[5:]) for row in rows if row[4]]
    exempt = sum(row[8] for row in rows if row[4] is False)
    return Waits(now, oldest, groups, exempt)


def tick_prospects(waits: Waits) -> list[Prospect]:
    """What a tick would do now, to these waits under the latter of their TTLs and to the rest."""
    lapsed: Counter[tuple[str, str]] = Counter()
    for group in waits.groups:
        lapsed[group.queue, "dead letter" if group.at_cap else "pending"] += group.due_after
    prospects = [Prospect(*row) for row in fetch_all("would_do", {})]
    for (queue, outcome), todos in lapsed.items():
        if todos:
            prospects.append(Prospect("lapsed wait", queue, outcome, todos))
    return sorted(prospects)


def find_todos(
    *, search: str = "", condition: str | None = None, queue: str | None = None
) -> Found:
    """Todos in a condition of CONDITIONS, of a queue, by the beginning of their id or title."""
    if search:
        conditions = None if condition is None else _stored(condition)
        narrowed = conditions is not None or queue is not None
        return _found(
            "search",
            window=SEARCHED if narrowed else LISTED + 1,
            among=LOOKED_THROUGH,
            starts=_id_starts(search),
            search=search,
            queue=queue,
            conditions=conditions,
        )
    if queue is not None:
        if condition == State.CLAIMED:
            return _found("queue_claimed", queue=queue)
        if condition in (PARKED, DEAD):
            return _found("queue_failed", queue=queue, parked=condition == PARKED)
        order = "oldest" if condition in OLDEST_FIRST else "newest"
        states = [str(state) for state in State] if condition is None else _stored(condition)
        return _found(f"queue_{order}", queue=queue, states=states)
    if condition is None:
        return _found("newest")
    if condition in INTERRUPT_STATES:
        return _found("waiting_for", condition=condition)
    if condition in (State.CANCELED, State.REJECTED):
        return _found("called_off", condition=condition)
    return _found(condition)


def find_attempts(*, search: str = "", ending: str | None = None) -> Found:
    """Attempts that ended in a way of ENDINGS, by the beginning of their todo's id."""
    if search:
        outcomes = {None: None, DIED_ATTEMPTS: list(DIED)}.get(ending, [ending])
        return _found("attempts_search", starts=_id_starts(search), outcomes=outcomes)
    if ending is None:
        return _found("attempts")
    if ending in (OPEN, DIED_ATTEMPTS, Outcome.COMPLETED):
        return _found(f"attempts_{ending}")
    return _found("attempts_outcome", outcome=ending)


def granted_queues() -> list[str]:
    """The queues that a todo can ride, at most MAX_QUEUES of them."""
    return [name for (name,) in fetch_all("lists/granted_queues", {"limit": MAX_QUEUES})]


def live_todos(endpoint_id: UUID) -> int:
    """How many live todos an endpoint has; COUNTED + 1 stands for any number above COUNTED."""
    row = fetch_one("lists/live_todos", {"endpoint": endpoint_id, "limit": COUNTED + 1})
    return 0 if row is None else int(row[0])


def deadline(todo_id: str, ttl: timedelta | None) -> Deadline | None:
    """When a wait lapses under this interrupt TTL; None: there is no such todo."""
    row = fetch_one("lists/wait", {"id": inputs.todo_id(todo_id), "ttl": _seconds(ttl)})
    return None if row is None else Deadline(*row)


class Detail(NamedTuple):
    """A todo, its latest attempts, newest first, and when its wait lapses."""

    todo: Todo
    attempts: list[Attempt]
    reclaim_at: datetime | None


def detail(endpoint: Endpoint, todo_id: str, *, attempts: int) -> Detail:
    """One todo of an endpoint with at most so many attempts. Raises TodoNotFound."""
    todo = Todo.objects.filter(pk=inputs.todo_id(todo_id), endpoint=endpoint.pk).first()
    if todo is None:
        raise TodoNotFound
    # What was claimed since the todo was read is not shown beside it.
    ledger = todo.attempts.filter(seq__lte=todo.attempts_total).order_by("-seq")
    return Detail(todo, list(ledger[:attempts]), _reclaim_at(todo))


def newest(
    endpoint: Endpoint,
    *,
    queue: str | None = None,
    state: str | None = None,
    below: str | None = None,
    limit: int,
) -> tuple[list[Todo], bool]:
    """The newest todos of an endpoint, without documents, and whether there are more.

    With `below`, the id that ended the page before, those that come after it.
    """
    rows = fetch_all(
        "lists/of_endpoint",
        {
            "endpoint": endpoint.pk,
            "queues": endpoint.queues if queue is None else [queue],
            "states": [str(s) for s in State] if state is None else [state],
            "below": _ABOVE_ALL_IDS if below is None else below,
            "limit": limit + 1,
        },
    )
    todos = [todo for row in rows if (todo := light_todo_from(row))]
    return todos[:limit], len(todos) > limit


def _reclaim_at(todo: Todo) -> datetime | None:
    if todo.interrupted_at is None:
        return None
    found = deadline(todo.pk, reading.interrupt_lease_ttl())
    return None if found is None else found.at


def now() -> datetime:
    row = fetch_one("now", {})
    assert row is not None  # noqa: S101
    return row[0]  # type: ignore[no-any-return]


def _found(statement: str, **params: Any) -> Found:
    params = {"limit": LISTED + 1, "window": LOOKED_THROUGH} | params
    ids = [found for (found,) in fetch_all(f"lists/{statement}", params)]
    return Found(ids[:LISTED], len(ids) > LISTED)


def _stored(condition: str) -> list[str]:
    """The words of `sql/fragments/condition.sql` for a condition."""
    names = {WAITING: list(INTERRUPT_STATES), DEAD: [State.FAILED]}.get(condition, [condition])
    return [str(name) for name in names]


def _id_starts(search: str) -> list[str]:
    # Ids are copied with and without their prefix.
    return [f"td_{search.removeprefix('td_')}"] if _LIKE_AN_ID.fullmatch(search) else []


def _seconds(ttl: timedelta | None) -> int | None:
    return None if ttl is None else ttl // timedelta(seconds=1)
