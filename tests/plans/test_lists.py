"""What the lists of a queue and the search cost on a large table, whatever its statistics say."""

from typing import Any

import pytest

from tests.plans.explain import plan_after_use
from todos.states import State

pytestmark = pytest.mark.django_db

QUEUE, TITLE, LEASE = "todos_unclaimed_queue_idx", "todos_unclaimed_title_idx", "todos_lease_idx"
ALL = [str(state) for state in State]
SEARCH = {"search": "work 1", "starts": ["td_00"], "queue": None, "conditions": None}


@pytest.mark.parametrize(
    ("name", "params", "indexes"),
    [
        ("queue_newest", {"queue": "inbox", "states": ALL}, {QUEUE, LEASE}),
        ("queue_newest", {"queue": "rare", "states": ALL}, {QUEUE, LEASE}),
        ("queue_newest", {"queue": "inbox", "states": ["done"]}, {QUEUE}),
        ("queue_oldest", {"queue": "inbox", "states": ["pending"]}, {QUEUE}),
        ("queue_failed", {"queue": "inbox", "parked": False}, {QUEUE}),
        ("queue_claimed", {"queue": "inbox"}, {LEASE}),
        ("search", SEARCH, {TITLE, LEASE, "todos_pkey"}),
    ],
)
def test_a_list_walks_along_its_indexes_no_further_than_its_window(
    name: str, params: dict[str, Any], indexes: set[str]
) -> None:
    plan = plan_after_use(f"lists/{name}", {"limit": 50, "window": 100, "among": 100} | params)
    assert plan.indexes == indexes, plan
    assert not plan.tables_read_whole, plan
    assert plan.largest_sort <= 450, plan
    assert plan.buffers < 1_000, plan
