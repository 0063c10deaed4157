"""Which request is being served, so that the log can say which one did what.

A context variable: `await`, `sync_to_async` and `asyncio.to_thread` carry it along. A thread pool
of one's own has to (`contextvars.copy_context().run`), and whatever outlives the request that
started it must not: `create_task(…, context=Context())`.
"""

from collections.abc import Iterable
from contextvars import ContextVar, Token
from typing import Any

MAX_MOVES = 100
"""How many transitions of one request are named in its line; the rest are counted."""


class Request:
    """A request and what is known of it by now. `who` is an id, never a credential."""

    __slots__ = ("_more", "_moves", "id", "who")

    def __init__(self, id: str) -> None:  # noqa: A002
        self.id = id
        self.who = ""
        self._moves: list[str] = []
        self._more = 0

    def note(self, transition: str, todo_id: str) -> None:
        """Remember a committed transition; any thread may."""
        if len(self._moves) < MAX_MOVES:
            self._moves.append(f"{transition.replace(' ', '_')}:{todo_id}")
        else:
            self._more += 1

    @property
    def did(self) -> str:
        """The transitions made so far: `claim:td_…,complete:td_…`, and `+N` for N more."""
        return ",".join([*self._moves, f"+{self._more}"] if self._more else self._moves)


_current: ContextVar[Request | None] = ContextVar("request", default=None)


def current() -> Request | None:
    """The request that is being served here, if one is."""
    return _current.get()


def request_id() -> str:
    """Its id, or nothing."""
    request = _current.get()
    return "" if request is None else request.id


def made_by(who: str) -> None:
    """Say who makes the request that is being served, if one is: `user:1`, never a credential."""
    request = _current.get()
    if request is not None:
        request.who = who


def enter(request: Request) -> Token[Request | None]:
    return _current.set(request)


def leave(token: Token[Request | None]) -> None:
    _current.reset(token)


def follow(sender: object, *, todos: Iterable[Any], transition: str, **_: Any) -> None:
    """Receiver of `hooks.todos_transitioned`."""
    request = _current.get()
    if request is not None:
        for todo in todos:
            request.note(transition, todo.pk)
