"""The waits at a glance: the oldest, those past their deadline, and the deadline itself."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection
from pytest_django import Settings

from settings_app.models import Setting
from settings_app.registry import INTERRUPT_LEASE_TTL
from tests.factories import age, make_waiting
from tests.todos.metrics.conftest import TOKEN
from tests.todos.metrics.test_page import scrape, value
from todos import reaper
from todos.metrics import collectors

pytestmark = pytest.mark.django_db(transaction=True)

OLDEST = "switchboard_oldest_interrupt_seconds"
OVERDUE = "switchboard_interrupts_overdue"
TTL = "switchboard_interrupt_lease_ttl_seconds"

Gauges = tuple[float | None, float | None, float | None]


@pytest.fixture(autouse=True)
def token(settings: Settings) -> None:
    settings.METRICS_TOKEN = TOKEN


@pytest.fixture
def set_ttl() -> Callable[[str], None]:
    def store(text: str) -> None:
        Setting.objects.update_or_create(pk=INTERRUPT_LEASE_TTL.key, defaults={"value": text})

    return store


def gauges() -> Gauges:
    samples = scrape()
    oldest, overdue, ttl = (value(samples, name) for name in (OLDEST, OVERDUE, TTL))
    return oldest, overdue, ttl


def test_nothing_waits() -> None:
    assert gauges() == (0, 0, 86_400)


def test_waits_before_and_after_their_deadline() -> None:
    make_waiting(age=timedelta(hours=30))
    make_waiting(age=timedelta(hours=25), queue="reviews")
    make_waiting(age=timedelta(hours=23))
    oldest, overdue, _ = gauges()
    assert oldest == pytest.approx(30 * 3600, abs=60)
    assert overdue == 2
    assert reaper.tick().reaped == 2
    oldest, overdue, _ = gauges()
    assert oldest == pytest.approx(23 * 3600, abs=60)
    assert overdue == 0


@pytest.mark.parametrize(
    ("stored", "shown", "overdue"),
    [("3600", 3600, 1), ("45", 60, 1), ("abc", 86_400, 0), ("100000", 100_000, 0)],
)
def test_the_deadline_is_the_one_in_effect(
    set_ttl: Callable[[str], None], stored: str, shown: int, overdue: int
) -> None:
    make_waiting(age=timedelta(hours=2))
    set_ttl(stored)
    assert gauges()[1:] == (overdue, shown)


@pytest.mark.parametrize("stored", ["0", "-1", "9" * 40])
def test_without_a_deadline_none_is_shown_and_nothing_is_overdue(
    set_ttl: Callable[[str], None], stored: str
) -> None:
    make_waiting(age=timedelta(days=900))
    set_ttl(stored)
    oldest, overdue, ttl = gauges()
    assert oldest == pytest.approx(900 * 86_400, abs=60)
    assert (overdue, ttl) == (0, None)


def test_a_wait_that_an_older_process_did_not_stamp_is_seen() -> None:
    age(make_waiting(), updated_at=timedelta(hours=3))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE todos SET interrupted_at = NULL")
    assert gauges()[0] == pytest.approx(3 * 3600, abs=60)


def test_a_wait_that_only_the_end_of_its_endpoint_will_end_is_seen() -> None:
    make_waiting(age=timedelta(hours=25))
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE endpoints SET expires_at = statement_timestamp() - interval '1 second'"
        )
    assert gauges()[1] == 1


def test_many_are_counted_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collectors, "OVERDUE_COUNTED", 3)
    for _ in range(5):
        make_waiting(age=timedelta(hours=25))
    assert gauges()[1] == 3


def test_what_cannot_be_read_is_left_out_and_the_rest_is_not() -> None:
    make_waiting()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE settings RENAME TO settings_away")
    try:
        samples = scrape()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE settings_away RENAME TO settings")
    assert value(samples, OLDEST) is value(samples, OVERDUE) is value(samples, TTL) is None
    errors = "switchboard_metrics_collection_errors_total"
    assert value(samples, errors, collector="waits") == 1
    assert value(samples, "switchboard_queue_todos", queue="inbox", state="input-required") == 1
