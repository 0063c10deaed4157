from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection

from settings_app.models import Setting
from tests.races.sessions import PATIENCE, Pause, Session
from todos.models import Attempt, AttemptTally, Counter, Endpoint, ReaperTick, Todo

Paused = Callable[[str], Pause]


@pytest.fixture(autouse=True)
def transactional_db(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Commits for real, and empties the tables of the queue afterwards.

    In the place of pytest-django's, which truncates every table of the project: that takes
    longer than these tests themselves.
    """
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = '{PATIENCE}s'")
        yield
        cursor.execute("RESET lock_timeout")
        for model in (Attempt, Todo, Endpoint, AttemptTally, Counter, ReaperTick, Setting):
            cursor.execute(f"DELETE FROM {model._meta.db_table}")


@pytest.fixture
def sessions(transactional_db: None) -> Iterator[Callable[[], Session]]:
    """Opens sessions, and closes them at the end whatever they are in the middle of."""
    opened: list[Session] = []

    def open_one() -> Session:
        opened.append(Session())
        return opened[-1]

    yield open_one
    for session in opened:
        session.close()


@pytest.fixture
def one(sessions: Callable[[], Session]) -> Session:
    return sessions()


@pytest.fixture
def other(sessions: Callable[[], Session]) -> Session:
    return sessions()


@pytest.fixture
def paused(monkeypatch: pytest.MonkeyPatch) -> Paused:
    """`with paused("reap_leases").of(session, call)`: see Pause."""
    return lambda name: Pause(name, monkeypatch)
