"""What the settings page asks costs what waits, not what there is."""

import pytest

from tests.plans.explain import plan_after_use

pytestmark = pytest.mark.django_db

WAITS = 6_000


@pytest.mark.parametrize("before", [None, 86_400])
def test_the_effect_of_a_ttl_reads_the_waits_along_their_index(before: int | None) -> None:
    params = {"before": before, "after": 3_600, "edges": [60, 3_600, 86_400]}
    plan = plan_after_use("ttl_effect", params)
    assert plan.indexes == {"todos_interrupted_idx"}, plan
    assert not plan.tables_read_whole, plan
    assert plan.largest_sort <= WAITS, plan
    assert plan.buffers < 2 * WAITS, plan
