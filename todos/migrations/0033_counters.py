from django.db import migrations, models

# What the ledger already shows, kept and tallied, so that counters and ledger agree from the start.
# Dead letters were not told apart by a column: their cause is what their result says.
FROM_THE_LEDGER = """
INSERT INTO todo_counters (name, queue, cause, value)
SELECT 'leases_expired', queue, '', sum(died)
FROM (SELECT t.queue, count(*) AS died
      FROM todo_attempts a JOIN todos t ON t.id = a.todo_id
      WHERE a.outcome IN ('lease_expired', 'reaped') GROUP BY t.queue
      UNION ALL
      SELECT queue, sum(count) FROM todo_attempt_tallies
      WHERE outcome IN ('lease_expired', 'reaped') GROUP BY queue) ledger
GROUP BY queue
UNION ALL
SELECT 'interrupt_leases_reclaimed', queue, '', sum(died)
FROM (SELECT t.queue, count(*) AS died
      FROM todo_attempts a JOIN todos t ON t.id = a.todo_id
      WHERE a.outcome IN ('lease_expired', 'reaped')
        AND a.ended_from IN ('input-required', 'auth-required') GROUP BY t.queue
      UNION ALL
      SELECT queue, sum(count) FROM todo_attempt_tallies
      WHERE outcome IN ('lease_expired', 'reaped')
        AND ended_from IN ('input-required', 'auth-required') GROUP BY queue) ledger
GROUP BY queue
UNION ALL
SELECT 'dead_lettered', queue,
       CASE WHEN result ->> 'error' IN ('lease_expired', 'interrupt_expired',
                                        'endpoint_revoked', 'endpoint_expired')
            THEN result ->> 'error' ELSE 'failed' END, count(*)
FROM todos
WHERE state = 'failed' AND next_retry_at IS NULL
GROUP BY 2, 3
"""

KNOWN_QUEUES = """
INSERT INTO metric_queues (queue)
SELECT q.queue
FROM endpoints e CROSS JOIN LATERAL unnest(e.queues) WITH ORDINALITY AS q (queue, position)
GROUP BY q.queue
ORDER BY min(e.created_at), min(q.position)
LIMIT 200
"""


class Migration(migrations.Migration):
    dependencies = [("todos", "0032_reaper_ticks")]

    operations = [
        migrations.CreateModel(
            name="Counter",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=40)),
                ("queue", models.CharField(max_length=200)),
                ("cause", models.CharField(db_default="", max_length=20)),
                ("value", models.BigIntegerField(db_default=0)),
            ],
            options={"db_table": "todo_counters"},
        ),
        migrations.CreateModel(
            name="MetricQueue",
            fields=[
                ("id", models.SmallAutoField(primary_key=True, serialize=False)),
                ("queue", models.CharField(max_length=200, unique=True)),
            ],
            options={"db_table": "metric_queues"},
        ),
        migrations.RunSQL(FROM_THE_LEDGER, migrations.RunSQL.noop),
        migrations.RunSQL(KNOWN_QUEUES, migrations.RunSQL.noop),
    ]
