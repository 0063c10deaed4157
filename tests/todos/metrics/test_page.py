"""`/metrics`: closed without its token, whole with it, and honest about what it cannot read."""

import pytest
from django.db import connection
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from tests.todos.metrics.conftest import TOKEN
from todos import endpoints, reaper, transitions
from todos.metrics import collectors
from todos.metrics.deltas import deltas
from todos.models import Endpoint, MetricQueue

pytestmark = pytest.mark.django_db(transaction=True)

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture(autouse=True)
def token(settings: Settings) -> None:
    settings.METRICS_TOKEN = TOKEN


def scrape() -> Samples:
    response = Client().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert response.status_code == 200
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float | None:
    return samples.get((name, frozenset(labels.items())))


def names(samples: Samples) -> set[str]:
    return {name for name, _ in samples}


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", f"Bearer {TOKEN}x", f"bearer{TOKEN}", "Basic x", "Bearer é"]
)
def test_it_refuses_whoever_has_not_the_token(header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    response = Client().get("/metrics", headers=headers)
    assert response.status_code == 401
    assert "switchboard_" not in response.text


def test_without_a_configured_token_it_is_closed(settings: Settings) -> None:
    settings.METRICS_TOKEN = ""
    for header in ("Bearer ", "Bearer", f"Bearer {TOKEN}"):
        assert Client().get("/metrics", headers={"Authorization": header}).status_code == 403


def test_known_queues_report_zero_before_anything_happens(endpoint: Endpoint) -> None:
    samples = scrape()
    for queue in ("inbox", "reviews"):
        for state in ("pending", "claimed", "input-required", "auth-required", "failed"):
            assert value(samples, "switchboard_queue_todos", queue=queue, state=state) == 0
        for name in (
            "switchboard_queue_oldest_pending_seconds",
            "switchboard_queue_oldest_interrupt_seconds",
            "switchboard_todo_leases_expired_total",
            "switchboard_interrupt_leases_reclaimed_total",
            "switchboard_todos_created_total",
            "switchboard_todos_claimed_total",
        ):
            assert value(samples, name, queue=queue) == 0, name
        for cause in collectors.COUNTERS["dead_lettered"][3]:
            name = "switchboard_todos_dead_lettered_total"
            assert value(samples, name, queue=queue, cause=cause) == 0
        for outcome in ("complete", "fail"):
            name = "switchboard_todos_completed_total"
            assert value(samples, name, queue=queue, outcome=outcome) == 0


def test_it_shows_what_lives_where_and_how_old_it_is(endpoint: Endpoint) -> None:
    for _ in range(2):
        transitions.create(endpoint, queue="reviews", title="work")
    todo, _ = transitions.create(endpoint, queue="inbox", title="work")
    transitions.claim(endpoint, todo.pk, owner="ada")
    transitions.interrupt(endpoint, todo.pk, owner="ada", state="auth-required")
    done, _ = transitions.create(endpoint, queue="inbox", title="work")
    transitions.claim(endpoint, done.pk, owner="ada")
    transitions.complete(endpoint, done.pk, owner="ada")
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE todos SET created_at = created_at - interval '1 hour',"
            " interrupted_at = interrupted_at - interval '2 hours'"
        )
    samples = scrape()
    todos = "switchboard_queue_todos"
    assert value(samples, todos, queue="reviews", state="pending") == 2
    assert value(samples, todos, queue="inbox", state="auth-required") == 1
    assert value(samples, todos, queue="inbox", state="pending") == 0
    assert sum(v for (name, _), v in samples.items() if name == todos) == 3
    oldest = value(samples, "switchboard_queue_oldest_pending_seconds", queue="reviews")
    assert oldest == pytest.approx(3600, abs=60)
    oldest = value(samples, "switchboard_queue_oldest_interrupt_seconds", queue="inbox")
    assert oldest == pytest.approx(7200, abs=60)
    assert value(samples, "switchboard_queue_oldest_pending_seconds", queue="inbox") == 0


def test_failed_are_parked_retries_only(endpoint: Endpoint) -> None:
    for max_attempts in (1, 2):
        todo, _ = transitions.create(
            endpoint, queue="inbox", title="work", max_attempts=max_attempts
        )
        transitions.claim(endpoint, todo.pk, owner="ada")
        transitions.fail(endpoint, todo.pk, owner="ada")
    samples = scrape()
    assert value(samples, "switchboard_queue_todos", queue="inbox", state="failed") == 1


def test_deltas_are_shown_once_they_were_added(endpoint: Endpoint) -> None:
    todo, _ = transitions.create(endpoint, queue="inbox", title="work")
    transitions.claim(endpoint, todo.pk, owner="ada")
    transitions.interrupt(endpoint, todo.pk, owner="ada", state="input-required")
    transitions.resume(endpoint, todo.pk, owner="ada")
    transitions.complete(endpoint, todo.pk, owner="ada")
    assert value(scrape(), "switchboard_todos_created_total", queue="inbox") == 0
    deltas.flush()
    samples = scrape()
    assert value(samples, "switchboard_todos_created_total", queue="inbox") == 1
    assert value(samples, "switchboard_todos_claimed_total", queue="inbox") == 1
    completed = "switchboard_todos_completed_total"
    assert value(samples, completed, queue="inbox", outcome="complete") == 1
    assert value(samples, completed, queue="inbox", outcome="fail") == 0
    deltas.flush()
    assert value(scrape(), "switchboard_todos_created_total", queue="inbox") == 1


def test_deltas_that_could_not_be_added_are_kept(endpoint: Endpoint) -> None:
    transitions.create(endpoint, queue="inbox", title="work")
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE todo_counters RENAME TO todo_counters_away")
    try:
        with pytest.raises(Exception, match="todo_counters"):
            deltas.flush()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE todo_counters_away RENAME TO todo_counters")
    deltas.flush()
    assert value(scrape(), "switchboard_todos_created_total", queue="inbox") == 1


def test_the_last_good_tick_is_left_out_until_there_was_one() -> None:
    name = "switchboard_reaper_last_success_timestamp_seconds"
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE reaper_ticks")
    assert value(scrape(), name) is None
    reaper.tick()
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXTRACT(EPOCH FROM now())")
        now = float(cursor.fetchone()[0])
    assert value(scrape(), name) == pytest.approx(now, abs=60)


def test_a_collector_that_fails_leaves_its_metrics_out_and_is_counted(endpoint: Endpoint) -> None:
    errors = "switchboard_metrics_collection_errors_total"
    before = value(scrape(), errors, collector="counters") or 0
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE todo_counters RENAME TO todo_counters_away")
    try:
        samples = scrape()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE todo_counters_away RENAME TO todo_counters")
    assert value(samples, errors, collector="counters") == before + 1
    assert "switchboard_todo_leases_expired_total" not in names(samples)
    assert "switchboard_queue_todos" in names(samples)


def test_queues_beyond_the_two_hundredth_share_one_label(endpoint: Endpoint) -> None:
    first = [f"q{number:03}" for number in range(198)]
    many, _ = endpoints.vend(name="many", queues=[*first, "late", "later"])
    for queue in ("late", "later", "q197"):
        transitions.create(many, queue=queue, title="work")
    assert MetricQueue.objects.count() == 200
    samples = scrape()
    todos = "switchboard_queue_todos"
    assert value(samples, todos, queue="__other__", state="pending") == 2
    assert value(samples, todos, queue="q197", state="pending") == 1
    assert value(samples, todos, queue="late", state="pending") is None
    endpoints.vend(name="again", queues=["aaa", "inbox"])
    assert MetricQueue.objects.count() == 200


def test_django_prometheus_is_beside_it() -> None:
    assert "django_http_requests_before_middlewares_total" in names(scrape())
