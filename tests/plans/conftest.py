from collections.abc import Iterator
from typing import Any

import pytest

from tests.plans import table


@pytest.fixture(scope="package", params=["analyzed", "stale"], autouse=True)
def statistics(
    request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: Any
) -> Iterator[str]:
    """The large table, once with true statistics and once with those of another day."""
    with django_db_blocker.unblock():
        table.load(analyzed=request.param == "analyzed")
    yield request.param
    with django_db_blocker.unblock():
        table.unload()
