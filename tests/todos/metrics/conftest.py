from collections.abc import Iterator

import pytest

from todos import endpoints
from todos.metrics.deltas import deltas
from todos.models import Endpoint

TOKEN = "scrape-" + "0123456789abcdef" * 2


@pytest.fixture
def endpoint() -> Endpoint:
    return endpoints.vend(name="desk", queues=["inbox", "reviews"])[0]


@pytest.fixture(autouse=True)
def nothing_counted_yet() -> Iterator[None]:
    deltas._forget()
    yield
    deltas._forget()
