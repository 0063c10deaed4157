from collections.abc import Callable, Iterator

import pytest

from tests.races.sessions import Pause, Session

Paused = Callable[[str], Pause]


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
