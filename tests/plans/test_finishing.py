"""What it costs to do something with one given todo on a large table."""

from typing import Any

import pytest

from tests.plans.explain import plan_after_use
from tests.plans.table import OWNER, todo_id
from todos import lease

pytestmark = pytest.mark.django_db

BY_KEY = {"todos_pkey", "todo_attempts_open_unique", "todo_attempts_seq_unique"}
REPORT = {"result": "{}", "summary": "s", "summary_truncated": False, "artifact": None}
LEASE = {"ttl": None, "server_ttl": lease.SERVER_DEFAULT}

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "heartbeat": ("claimed", LEASE),
    "complete": ("claimed", REPORT),
    "fail": ("claimed", REPORT),
    "release": ("claimed", REPORT),
    "interrupt": ("claimed", {"state": "input-required", "result": "{}"}),
    "resume": ("waiting", LEASE | {"renew": True, "result": "{}"}),
    "cancel": ("claimed", REPORT),
    "reject": ("mail", {"result": "{}"}),
    "retry": ("dead", {}),
    "reclaim_now": ("waiting", {"why": "reclaimed"}),
}


def _params(kind: str, number: int, more: dict[str, Any]) -> dict[str, Any]:
    who = {"endpoint": None, "owner": OWNER, "token": None}
    return {**who, **more, "id": todo_id(kind, number)}


@pytest.mark.parametrize("name", CASES)
def test_one_todo_is_found_by_its_key_alone(name: str) -> None:
    kind, more = CASES[name]
    params = _params(kind, 4_000, more)
    plan = plan_after_use(name, params, last=_params(kind, 4_001, more))
    assert "todos_pkey" in plan.indexes, plan
    assert plan.indexes <= BY_KEY | {"todo_attempts_pkey", "todos_live_key_unique"}, plan
    assert not plan.tables_read_whole, plan
    # An update writes to each of the table's indexes, some three pages each.
    assert plan.buffers < 100, plan


def test_pruning_a_history_looks_at_that_todo_alone() -> None:
    plan = plan_after_use("prune_history", {"id": todo_id("claimed", 1), "keep": 5})
    assert plan.indexes <= BY_KEY, plan
    assert not plan.tables_read_whole, plan
    assert plan.buffers < 50, plan
