"""Random sequences of all operations agree with the model (see machine.py)."""

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import Queue
from tests.model.world import reached

EXAMPLES = int(os.environ.get("MODEL_EXAMPLES", "0"))
"""By hand, for longer runs that begin elsewhere each time: MODEL_EXAMPLES=2000."""


@pytest.mark.django_db(transaction=True)
def test_every_sequence_of_operations_leaves_what_the_domain_says() -> None:
    reached.clear()
    run_state_machine_as_test(
        Queue,
        settings=settings(
            max_examples=EXAMPLES or 200,
            stateful_step_count=50,
            deadline=None,
            database=None,
            derandomize=not EXAMPLES,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
    worth = {
        "lease",
        "lease at the cap",
        "wait",
        "wait at the cap",
        "stamp",
        "takeover",
        "retry",
        "fence",
        "prune",
        "revoke",
        "expiry",
    }
    assert {name for name, times in reached.items() if times} == worth, reached
