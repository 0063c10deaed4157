"""What the statements about endpoints cost where there are very many of them."""

from typing import Any

import pytest
from django.db import connection

from tests.plans.explain import plan_after_use
from tests.plans.table import DESK

pytestmark = pytest.mark.django_db

CREATE = {
    "endpoint": str(DESK),
    "queue": "inbox",
    "title": "one more",
    "kind": "",
    "source": "",
    "payload": None,
    "assignee": None,
    "max_attempts": 5,
}


@pytest.fixture(autouse=True)
def _many_endpoints() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO endpoints (id, name, queues, credential_hash, credential_prefix,"
            " revoked_at, revocation_finished_at)"
            " SELECT gen_random_uuid(), 'old desk', '{inbox}', sha256(('old ' || n)::bytea),"
            " 'sbk_', now(), now() FROM generate_series(1, 20000) n"
        )


@pytest.mark.parametrize(
    ("name", "params", "index"),
    [
        ("endpoint_revoke", {"endpoint": DESK}, "endpoints_pkey"),
        ("endpoints_expire", {}, "endpoints_expiry_idx"),
        ("revocations_open", {}, "endpoints_unfinished_idx"),
    ],
)
def test_endpoints_are_found_by_an_index(name: str, params: dict[str, Any], index: str) -> None:
    plan = plan_after_use(name, params)
    assert plan.all_indexes == {index}, plan
    assert plan.buffers < 20, plan


def test_a_key_is_decided_about_by_its_index() -> None:
    ids = [{"id": f"td_new_{n}", "idempotency_key": f"key {n}"} for n in range(2)]
    plan = plan_after_use("create", CREATE | ids[0], last=CREATE | ids[1])
    assert plan.all_indexes == {"endpoints_pkey"}, plan
    assert plan.arbiter_indexes == {"todos_live_key_unique"}, plan
    assert plan.buffers < 60, plan


def test_the_todo_that_has_a_key_is_found_by_the_key() -> None:
    plan = plan_after_use("find_by_key", {"endpoint": str(DESK), "idempotency_key": "key"})
    assert plan.indexes == {"todos_live_key_unique"}, plan
    assert plan.buffers < 10, plan


@pytest.mark.parametrize(
    ("name", "params"), [("tick_succeeded", {"took": 0.5}), ("tick_is_recent", {})]
)
def test_a_tick_is_remembered_in_one_row(name: str, params: dict[str, Any]) -> None:
    assert plan_after_use(name, params).buffers < 20
