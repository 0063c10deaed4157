"""What a batch of each sweep costs while thousands of rows are due."""

from typing import Any

import pytest
from django.db import connection

from tests.plans.explain import USES, Plan, plan_after_use
from tests.plans.table import DESK, LAPSED, todo_id
from todos import sql

pytestmark = pytest.mark.django_db

SIZE = 100
BATCH: dict[str, Any] = {"limit": SIZE, "passed_over": []}
TTL = {"ttl": 86_400, "why": "reclaimed"}
PAGES_PER_ROW = 60
"""To find, lock and write a todo with its indexes, and its attempt."""


def _assert_bounded(plan: Plan, rows: int) -> None:
    assert not plan.tables_read_whole, plan
    assert plan.largest_sort <= rows, plan
    assert plan.pairs_compared <= rows, plan
    assert plan.buffers < 100 + PAGES_PER_ROW * rows, plan


@pytest.mark.parametrize(
    ("name", "index", "more"),
    [
        ("reap_leases", "todos_lease_idx", {}),
        ("reclaim_waits", "todos_interrupted_idx", TTL),
        ("requeue_due", "todos_retry_idx", {}),
    ],
)
def test_a_batch_walks_along_its_index_and_costs_what_it_moves(
    name: str, index: str, more: dict[str, Any]
) -> None:
    assert LAPSED > (USES + 1) * SIZE, "there is more to do than the batches before take"
    plan = plan_after_use(name, BATCH | more)
    assert index in plan.indexes, plan
    assert plan.indexes <= {
        index,
        "todos_pkey",
        "todo_attempts_open_unique",
        "todo_attempts_seq_unique",
    }, plan
    _assert_bounded(plan, SIZE)


@pytest.mark.parametrize(
    ("name", "index", "more"),
    [
        ("peek_leases", "todos_lease_idx", {}),
        ("peek_waits", "todos_interrupted_idx", TTL),
        ("peek_retries", "todos_retry_idx", {}),
        ("peek_stamps", "todos_interrupted_idx", {}),
    ],
)
def test_a_look_at_the_next_row_costs_one_row(name: str, index: str, more: dict[str, Any]) -> None:
    plan = plan_after_use(name, {"limit": 1, "passed_over": []} | more)
    assert plan.indexes == {index}, plan
    _assert_bounded(plan, 1)


def test_unstamped_waits_are_found_without_looking_at_the_stamped() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE todos SET interrupted_at = NULL WHERE id = %s", [todo_id("waiting", 9)]
        )
    plan = plan_after_use("stamp_waits", BATCH)
    assert plan.indexes == {"todos_interrupted_idx", "todos_pkey"}, plan
    _assert_bounded(plan, 1)


@pytest.fixture
def _revoked() -> None:
    """The desk with its 200,000 todos is revoked, and the first 20,000 are dealt with."""
    assert sql.execute("endpoint_revoke", {"endpoint": DESK}) == 1
    many: dict[str, Any] = {"endpoint": DESK, "limit": 20_000, "passed_over": []}
    first = [todo for (todo,) in sql.fetch_all("revocation_lock", many)]
    assert len(sql.fetch_all("revocation_apply", {"ids": first})) == 20_000


@pytest.mark.usefixtures("_revoked")
@pytest.mark.parametrize("name", ["revocation_lock", "revocation_lock_free"])
def test_a_revocation_does_not_walk_over_what_it_did_before(name: str) -> None:
    plan = plan_after_use(name, BATCH | {"endpoint": DESK})
    assert plan.indexes == {"todos_live_idx"}, plan
    _assert_bounded(plan, SIZE)


@pytest.mark.usefixtures("_revoked")
def test_the_end_of_a_revocation_is_seen_from_its_index() -> None:
    plan = plan_after_use("revocation_finish", {"endpoint": DESK})
    assert plan.indexes == {"todos_live_idx"}, plan
    assert not plan.tables_read_whole, plan


def test_a_batch_of_a_revocation_takes_its_todos_by_their_keys() -> None:
    ids = [todo_id("waiting", number + 1) for number in range(SIZE)]
    plan = plan_after_use("revocation_apply", {"ids": ids[:1]}, last={"ids": ids})
    assert "todos_pkey" in plan.indexes, plan
    _assert_bounded(plan, SIZE)
