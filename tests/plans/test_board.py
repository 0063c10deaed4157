"""What a look at the board costs on a large table, whatever its filters."""

from typing import Any

import pytest
from django.db import connection

from tests.plans.explain import plan_after_use
from tests.plans.table import DESK
from todos.board.lanes import PLACES, SHOWN

pytestmark = pytest.mark.django_db

WINDOW = 500
"""Smaller than the board's, so that what goes beyond it shows."""

NOTHING: dict[str, Any] = {"endpoint": None, "queue": None}
FILTERED: dict[str, Any] = {"endpoint": str(DESK), "queue": "rare"}
BOUNDS: dict[str, Any] = {"window": WINDOW, "shown": SHOWN, "places": PLACES}
INDEXES = {
    "pending": "todos_state_idx",
    "claimed": "todos_lease_idx",
    "waiting": "todos_interrupted_idx",
    "parked": "todos_retry_idx",
    "dead": "todos_dead_idx",
    "done": "todos_ended_idx",
}
SHARED = {"todos_pkey", "todo_attempts_seq_unique"}


@pytest.mark.parametrize("filters", [NOTHING, FILTERED], ids=["all", "filtered"])
@pytest.mark.parametrize("lane", INDEXES)
def test_a_lane_walks_along_its_index_no_further_than_it_looks(
    lane: str, filters: dict[str, Any]
) -> None:
    plan = plan_after_use(f"board/{lane}", BOUNDS | filters)
    assert INDEXES[lane] in plan.indexes, plan
    assert plan.indexes <= {INDEXES[lane]} | SHARED, plan
    assert not plan.tables_read_whole, plan
    assert plan.largest_sort <= WINDOW, plan
    # At most two pages for each todo looked at, and some for each card.
    assert plan.buffers < 2 * WINDOW + 12 * SHOWN + 50, plan


@pytest.mark.parametrize(
    "filters", [FILTERED, NOTHING | {"queue": "rare"}, NOTHING | {"endpoint": str(DESK)}]
)
def test_pending_todos_of_a_filter_are_found_by_endpoint_and_queue(
    filters: dict[str, Any],
) -> None:
    """In front of the rare ones there are 200,000 older ones."""
    plan = plan_after_use("board/pending_filtered", BOUNDS | filters)
    assert plan.indexes <= {"todos_pending_idx"} | SHARED, plan
    assert "todos_pending_idx" in plan.indexes, plan
    assert not plan.tables_read_whole, plan
    # A probe for each of the 200 endpoints.
    assert plan.buffers < 2 * WINDOW + 12 * SHOWN + 200 * 6, plan


@pytest.mark.parametrize("filters", [NOTHING, FILTERED], ids=["all", "filtered"])
def test_reclaims_are_found_by_when_they_were(filters: dict[str, Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE todo_attempts SET outcome = 'reaped', ended_from = 'input-required',"
            " ended_at = now() - random() * interval '2 days' WHERE outcome = 'completed'"
            " AND id % 10 = 0"
        )
    plan = plan_after_use("board/reclaims", BOUNDS | filters)
    assert plan.indexes == {"todo_attempts_reclaimed_idx", "todos_pkey"}, plan
    assert not plan.tables_read_whole, plan
    assert plan.largest_sort <= WINDOW, plan
    assert plan.buffers < 8 * WINDOW, plan
