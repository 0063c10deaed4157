"""What a list of the API costs on a large table."""

from typing import Any

import pytest

from tests.plans.explain import plan_after_use
from tests.plans.table import DESK, QUEUES
from todos.states import State

pytestmark = pytest.mark.django_db

LIST: dict[str, Any] = {"endpoint": str(DESK), "below": "te", "limit": 51}


@pytest.mark.parametrize("queues", [list(QUEUES), ["rare"]], ids=["all queues", "a rare queue"])
@pytest.mark.parametrize(
    "states", [list(State.values), ["claimed"], ["rejected"]], ids=["all", "claimed", "rejected"]
)
def test_a_list_walks_one_index_no_further_than_it_is_long(
    queues: list[str], states: list[str]
) -> None:
    plan = plan_after_use("lists/of_endpoint", {**LIST, "queues": queues, "states": states})
    assert plan.indexes <= {"todos_unclaimed_endpoint_idx", "todos_lease_idx", "todos_pkey"}, plan
    assert not plan.tables_read_whole, plan
    walks = len(queues) * len(states)
    # Besides what is held, which is no more than there are workers.
    held = 6_000 if "claimed" in states else 0
    assert plan.largest_sort <= walks * LIST["limit"] + held, plan
    assert plan.buffers < 20 + walks * 60 + 4 * LIST["limit"] + held, plan
