"""Reads the metrics from the database, at each scrape: any web process answers the same."""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta

from django.db import connection, transaction
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from settings_app import reading
from todos import models
from todos.inputs import OTHER_QUEUES
from todos.sql import fetch_all
from todos.states import HELD_STATES, INTERRUPT_STATES, State

logger = logging.getLogger(__name__)

GAUGED_STATES = (State.PENDING, *HELD_STATES, State.FAILED)
"""Live states; `failed` are parked retries only, as terminal todos are not counted."""

COUNTERS: dict[str, tuple[str, str, str | None, tuple[str, ...]]] = {
    "leases_expired": (
        "switchboard_todo_leases_expired",
        "Attempts whose holder died: reaped leases, takeovers and reclaimed waits.",
        None,
        ("",),
    ),
    "interrupt_leases_reclaimed": (
        "switchboard_interrupt_leases_reclaimed",
        "Those of the expired leases that were a wait which nobody answered in time.",
        None,
        ("",),
    ),
    "dead_lettered": (
        "switchboard_todos_dead_lettered",
        "Todos that became dead letters.",
        "cause",
        ("failed", "lease_expired", "interrupt_expired", "endpoint_revoked", "endpoint_expired"),
    ),
    "created": ("switchboard_todos_created", "Todos created.", None, ("",)),
    "claimed": ("switchboard_todos_claimed", "Claims, takeovers included.", None, ("",)),
    "completed": (
        "switchboard_todos_completed",
        "Attempts that their holder ended.",
        "outcome",
        ("complete", "fail"),
    ),
}
"""Name in `todo_counters` → name, help, label of the cause, causes."""


OVERDUE_COUNTED = 10_000

LIVE_TODOS_BY_BITMAP = (
    "SELECT set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'off', true)"
)
"""Each page that holds a live todo is read once, whatever else the planner thinks of the table."""


def known_queues() -> list[str]:
    return list(models.MetricQueue.objects.order_by("id").values_list("queue", flat=True))


def read_queues() -> Iterable[Metric]:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(LIVE_TODOS_BY_BITMAP)
        rows = fetch_all("live_by_queue", {})
        known = known_queues()
    counts: dict[tuple[str, str], int] = {(q, s): 0 for q in known for s in GAUGED_STATES}
    ages: dict[str, dict[str, float]] = {
        "pending": dict.fromkeys(known, 0.0),
        "interrupt": dict.fromkeys(known, 0.0),
    }
    for queue, state, count, age in rows:
        label = queue if queue in ages["pending"] else OTHER_QUEUES
        counts[label, state] = counts.get((label, state), 0) + count
        kind = "interrupt" if state in INTERRUPT_STATES else str(state)
        if kind in ages:
            ages[kind][label] = max(ages[kind].get(label, 0.0), age)
    todos = GaugeMetricFamily(
        "switchboard_queue_todos",
        "Live todos; failed are parked retries only.",
        labels=["queue", "state"],
    )
    for (queue, state), count in counts.items():
        todos.add_metric([queue, state], count)
    yield todos
    for kind, helps in (("pending", "pending todo"), ("interrupt", "wait")):
        oldest = GaugeMetricFamily(
            f"switchboard_queue_oldest_{kind}_seconds",
            f"Age of the oldest {helps}; 0 without one.",
            labels=["queue"],
        )
        for queue, age in ages[kind].items():
            oldest.add_metric([queue], age)
        yield oldest


def read_counters() -> Iterable[Metric]:
    known = known_queues()
    values: dict[str, dict[tuple[str, str], int]] = defaultdict(lambda: defaultdict(int))
    for name, queue, cause, value in models.Counter.objects.values_list(
        "name", "queue", "cause", "value"
    ):
        values[name][queue if queue in known else OTHER_QUEUES, cause] += value
    for name, (metric, text, label, causes) in COUNTERS.items():
        family = CounterMetricFamily(metric, text, labels=["queue", label] if label else ["queue"])
        zeros = {(queue, cause): 0 for queue in known for cause in causes}
        for (queue, cause), value in (zeros | values[name]).items():
            family.add_metric([queue, cause] if label else [queue], value)
        yield family


def read_waits() -> Iterable[Metric]:
    ttl = reading.interrupt_lease_ttl()
    seconds = None if ttl is None else ttl // timedelta(seconds=1)
    ((oldest, overdue),) = fetch_all("waits_now", {"ttl": seconds, "most": OVERDUE_COUNTED})
    yield GaugeMetricFamily(
        "switchboard_oldest_interrupt_seconds",
        "Age of the oldest wait of all queues; 0 without one.",
        value=oldest or 0,
    )
    yield GaugeMetricFamily(
        "switchboard_interrupts_overdue",
        f"Waits past the deadline that no tick has reclaimed yet, up to {OVERDUE_COUNTED}.",
        value=overdue,
    )
    if seconds is not None:
        yield GaugeMetricFamily(
            "switchboard_interrupt_lease_ttl_seconds",
            "How long a wait may last, as the next tick reads it; left out while the sweep is off.",
            value=seconds,
        )


def read_reaper() -> Iterable[Metric]:
    for (seconds,) in fetch_all("last_tick", {}):
        yield GaugeMetricFamily(
            "switchboard_reaper_last_success_timestamp_seconds",
            "When the last tick without an error began.",
            value=seconds,
        )


READERS: dict[str, Callable[[], Iterable[Metric]]] = {
    "queues": read_queues,
    "counters": read_counters,
    "waits": read_waits,
    "reaper": read_reaper,
}

registry = CollectorRegistry(auto_describe=False)

errors = Counter(
    "switchboard_metrics_collection_errors",
    "Collectors that failed, and whose metrics that scrape left out.",
    ["collector"],
    registry=None,
)
for _name in READERS:
    errors.labels(_name)


class Database(Collector):
    """All readers; one that fails leaves its metrics out and is counted."""

    def collect(self) -> Iterator[Metric]:
        for name, read in READERS.items():
            try:
                metrics = list(read())
            except Exception:
                logger.exception("metrics of %s are left out", name)
                errors.labels(name).inc()
            else:
                yield from metrics
        yield from errors.collect()


registry.register(Database())
