"""What one process tells all web processes at once, and how it is written."""

import json
from collections import defaultdict
from functools import cached_property
from typing import NamedTuple

from django.conf import settings
from redis.connection import parse_url

from todos.models import Todo
from todos.states import State

MAX_HINTS = 500
"""How many hints a message has; of the rest it says only where much has changed."""

MAX_PLACES = 100
"""How many places a message names; beyond that, much has changed everywhere."""

RECLAIMS = ("reclaim lapsed wait", "reclaim now")
"""Transitions that are announced to people: no later one of the same tick replaces them."""

_VERSION = 1

Place = tuple[str, str]
"""The id of an endpoint and one of its queues."""


class Hint(NamedTuple):
    """One transition of one todo, as it was committed. Ids are texts.

    Hints of one todo from two processes may arrive in the wrong order: `at`, its `updated_at` in
    seconds since the epoch, tells.
    """

    todo: str
    endpoint: str
    queue: str
    state: str
    transition: str
    reason: str | None
    """`created` or `requeued` if it is pending now."""
    attempt: int
    max_attempts: int
    parked: bool
    """Whether a `failed` todo is a parked retry and no dead letter."""
    at: float
    waited: float | None = None
    """Of a reclaimed wait: how long it had lasted, in seconds."""


def hint_of(todo: Todo, transition: str, waited: float | None) -> Hint:
    reason = None
    if todo.state == State.PENDING:
        reason = "created" if transition == "create" else "requeued"
    return Hint(
        todo.pk,
        str(todo.endpoint_id),
        todo.queue,
        str(todo.state),
        transition,
        reason,
        todo.attempt,
        todo.max_attempts,
        todo.next_retry_at is not None,
        todo.updated_at.timestamp(),
        waited,
    )


class Message:
    """Bounded, whatever is added: the last hint of each todo, and its reclaims."""

    def __init__(self) -> None:
        self._hints: dict[str | tuple[str, float], Hint] = {}
        self.places: set[Place] = set()
        """Where more has changed than the hints say."""
        self.everywhere = False
        self.ended: set[str] = set()
        """Endpoints that were revoked."""

    @property
    def hints(self) -> list[Hint]:
        return list(self._hints.values())

    @cached_property
    def hints_by_endpoint(self) -> dict[str, list[Hint]]:
        """Of a message that nothing is added to any more."""
        grouped = defaultdict(list)
        for hint in self._hints.values():
            grouped[hint.endpoint].append(hint)
        return dict(grouped)

    def __bool__(self) -> bool:
        return bool(self._hints or self.places or self.everywhere or self.ended)

    def note(self, todo: Todo, transition: str, waited: float | None) -> None:
        """Add the hint of a todo; where there is no room for it, it is not even made."""
        if len(self._hints) < MAX_HINTS or todo.id in self._hints:
            self.add(hint_of(todo, transition, waited))
        else:
            self._add_place((str(todo.endpoint_id), todo.queue))

    def add(self, hint: Hint) -> None:
        before = self._hints.pop(hint.todo, None)
        if before is not None and before.transition in RECLAIMS:
            self._hints[before.todo, before.at] = before
        if len(self._hints) < MAX_HINTS:
            self._hints[hint.todo] = hint
        else:
            self._add_place((hint.endpoint, hint.queue))

    def end(self, endpoint: str) -> None:
        if len(self.ended) < MAX_PLACES:
            self.ended.add(endpoint)
        else:
            self.everywhere = True

    def _add_place(self, place: Place) -> None:
        if len(self.places) < MAX_PLACES:
            self.places.add(place)
        elif place not in self.places:
            self.everywhere = True

    def encode(self) -> bytes:
        content = {
            "version": _VERSION,
            "hints": self.hints,
            "places": list(self.places),
            "everywhere": self.everywhere,
            "ended": list(self.ended),
        }
        return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()


def decode(data: bytes) -> Message:
    """What cannot be read, such as a later release's, says that everything may have changed."""
    message = Message()
    try:
        content = json.loads(data)
        if content["version"] != _VERSION:
            raise ValueError(content["version"])
        for values in content["hints"]:
            message.add(Hint(*values))
        message.places = {(str(endpoint), str(queue)) for endpoint, queue in content["places"]}
        message.everywhere = bool(content["everywhere"])
        message.ended = {str(endpoint) for endpoint in content["ended"]}
    except (ValueError, TypeError, KeyError):
        message = Message()
        message.everywhere = True
    return message


def channel() -> str:
    """One per database of a Redis: to pub/sub itself, its databases are all the same."""
    return f"switchboard:feed:{parse_url(settings.REDIS_URL).get('db') or 0}"  # type: ignore[no-untyped-call]
