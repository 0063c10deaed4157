"""The shell's worker does what the one in Python does: it needs bash, curl and jq."""

import pytest

from tests.processes.test_example import (  # noqa: F401
    desk,
    pytestmark,
    test_a_worker_asks_and_goes_on_with_what_a_colleague_or_an_operator_answers,
    test_who_takes_over_from_a_killed_worker_reads_what_it_had_asked,
)


@pytest.fixture
def script() -> str:
    return "worker.sh"
