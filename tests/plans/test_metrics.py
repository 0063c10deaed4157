"""What the gauges of waits cost while thousands are overdue."""

import pytest

from tests.plans.explain import plan_after_use

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("ttl", [86_400, None])
def test_a_scrape_reads_the_beginning_of_the_waits_alone(ttl: int | None) -> None:
    plan = plan_after_use("waits_now", {"ttl": ttl, "most": 100})
    assert plan.indexes == {"todos_interrupted_idx"}, plan
    assert not plan.tables_read_whole, plan
    assert plan.buffers < 220, plan
