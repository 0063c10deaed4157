"""What a scrape costs depends on the live todos alone, not on how many are done."""

import pytest
from django.db import connection, transaction

from todos.metrics.collectors import LIVE_TODOS_BY_BITMAP
from todos.models import Endpoint
from todos.sql import statement

pytestmark = pytest.mark.django_db(transaction=True)


def add(endpoint: Endpoint, state: str, count: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO todos (id, endpoint_id, queue, title, state, completed_at)"
            " SELECT 'td_' || gen_random_uuid(), %s, 'inbox', 'work', %s,"
            " CASE WHEN %s = 'done' THEN now() END FROM generate_series(1, %s)",
            [endpoint.pk, state, state, count],
        )


def buffers() -> int:
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE todos")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(LIVE_TODOS_BY_BITMAP)
        explain = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "
        for _ in range(2):
            cursor.execute(explain + statement("live_by_queue"))
        plan = cursor.fetchone()[0][0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def test_a_scrape_touches_as_many_buffers_with_many_done_todos_as_with_few(
    endpoint: Endpoint,
) -> None:
    add(endpoint, "done", 10_000)
    add(endpoint, "pending", 1_000)
    few = buffers()
    add(endpoint, "done", 150_000)
    assert buffers() <= few * 1.1 + 5
