"""What a claim costs on a large table."""

from typing import Any

import pytest

from tests.plans.explain import plan_after_use
from tests.plans.table import DESK, LAPSED, OWNER, QUEUES, todo_id
from todos import lease

pytestmark = pytest.mark.django_db

CLAIM = {
    "endpoint": str(DESK),
    "owner": OWNER,
    "claimer_kind": "endpoint",
    "ttl": None,
    "server_ttl": lease.SERVER_DEFAULT,
    "claimant": "",
    "token": None,
}
HEADS = {"todos_pending_idx", "todos_lease_idx", "todos_retry_idx"}
LATE_HERE = 2 * LAPSED // 200


@pytest.mark.parametrize(
    "queues",
    [["inbox"], list(QUEUES), ["rare"], None],
    ids=["one queue", "four queues", "a rare queue", "all that are granted"],
)
def test_claim_next_probes_the_head_of_each_queue(queues: list[str] | None) -> None:
    """In front of the inbox there are 100,000 older todos that are assigned to others."""
    plan = plan_after_use("claim_next", {**CLAIM, "queues": queues})
    assert HEADS <= plan.indexes <= HEADS | {"todos_pkey", "todo_attempts_open_unique"}, plan
    assert not plan.tables_read_whole, plan
    assert plan.largest_sort <= LATE_HERE, plan
    # A page holds about 50 todos, and some 4,000 are lapsed or due.
    assert plan.buffers < 150 + 2 * LAPSED / 25, plan


def test_claim_takes_the_todo_by_its_key() -> None:
    plan = plan_after_use("claim", {**CLAIM, "id": todo_id("inbox", 77)})
    assert plan.indexes >= {"todos_pkey", "todo_attempts_open_unique"}
    assert not plan.tables_read_whole


def _lapsed(number: int) -> dict[str, Any]:
    return {**CLAIM, "endpoint": None, "id": todo_id("claimed", number)}


def test_a_takeover_takes_the_todo_by_its_key() -> None:
    plan = plan_after_use("claim", _lapsed(5))
    assert "todos_pkey" in plan.indexes
    assert not plan.tables_read_whole
    assert plan.buffers < 100, plan
