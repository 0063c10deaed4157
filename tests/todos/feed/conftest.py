from collections.abc import Iterator

import pytest
from django.conf import LazySettings

from dev.valkey import Valkey
from tests.processes.programs import own_broker
from tests.todos.feed.listening import Loop
from todos.feed.publisher import publisher


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture
def redis_server(settings: LazySettings) -> Iterator[Valkey]:
    """A Redis of the test's own, to stop and start; the feed uses it."""
    with own_broker() as server:
        settings.REDIS_URL = server.url
        publisher._forget()
        yield server
    publisher._forget()
