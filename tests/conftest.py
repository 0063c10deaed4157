import pytest

from todos.metrics.deltas import deltas


@pytest.fixture(scope="session", autouse=True)
def _deltas_are_flushed_by_hand() -> None:
    """No thread writes to the database behind a test's back."""
    deltas.interval = None
