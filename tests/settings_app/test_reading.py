import importlib.util
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from settings_app import reading
from settings_app.models import Setting
from settings_app.registry import TUNABLES
from tests.settings_app.conftest import StoreRow
from tests.settings_app.test_values import NOT_PLAIN

pytestmark = pytest.mark.django_db

READERS: dict[str, Callable[[], Any]] = {
    "interrupt_lease_ttl_seconds": reading.interrupt_lease_ttl,
    "sse_retry_ms": reading.sse_retry_ms,
    "attempt_history_max_per_todo": reading.attempt_history_max_per_todo,
    "retention_max_age_days": reading.retention_max_age_days,
    "retention_max_rows": reading.retention_max_rows,
    "dead_letter_max_age_days": reading.dead_letter_max_age_days,
    "create_rate_per_minute": reading.create_rate_per_minute,
}
DEFAULTS: dict[str, Any] = {
    "interrupt_lease_ttl_seconds": timedelta(hours=24),
    "sse_retry_ms": 3_000,
    "attempt_history_max_per_todo": 50,
    "retention_max_age_days": 30,
    "retention_max_rows": 500_000,
    "dead_letter_max_age_days": 365,
    "create_rate_per_minute": 600,
}
HUGE = ("9" * 40, "9" * 5_000, "+" + "9" * 5_000)
NEGATIVE = ("0", "-0", "-1", "-" + "9" * 40, "-" + "9" * 5_000)
YEAR = timedelta(days=365.25)


def test_every_key_has_a_reader() -> None:
    assert list(READERS) == list(TUNABLES)


@pytest.mark.parametrize("key", READERS)
def test_without_a_row_the_default_counts(key: str) -> None:
    assert READERS[key]() == DEFAULTS[key]


@pytest.mark.parametrize("text", NOT_PLAIN.values(), ids=NOT_PLAIN)
@pytest.mark.parametrize("key", READERS)
def test_anything_but_a_plain_integer_leaves_the_default_and_warns(
    key: str, text: str, store: StoreRow, caplog: pytest.LogCaptureFixture
) -> None:
    store(key, text)
    assert READERS[key]() == DEFAULTS[key]
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert key in record.getMessage()
    assert repr(text[:100]) in record.getMessage()
    assert len(record.getMessage()) < 300


@pytest.mark.parametrize(
    ("key", "texts", "value"),
    [
        ("interrupt_lease_ttl_seconds", NEGATIVE, None),
        ("interrupt_lease_ttl_seconds", ("1", "59", "007"), timedelta(seconds=60)),
        ("interrupt_lease_ttl_seconds", ("60", "+60", "0" * 5_000 + "60"), timedelta(seconds=60)),
        ("interrupt_lease_ttl_seconds", ("61",), timedelta(seconds=61)),
        ("interrupt_lease_ttl_seconds", ("3155759999",), 100 * YEAR - timedelta(seconds=1)),
        ("interrupt_lease_ttl_seconds", ("3155760000",), 100 * YEAR),
        ("interrupt_lease_ttl_seconds", ("3155760001", *HUGE), None),
        ("sse_retry_ms", (*NEGATIVE, "1", "249", "250"), 250),
        ("sse_retry_ms", ("251",), 251),
        ("sse_retry_ms", ("60000", "60001", *HUGE), 60_000),
        ("attempt_history_max_per_todo", (*NEGATIVE, "1", "4", "5"), 5),
        ("attempt_history_max_per_todo", ("6",), 6),
        ("attempt_history_max_per_todo", HUGE, None),
        ("retention_max_age_days", NEGATIVE, None),
        ("retention_max_age_days", ("1",), 1),
        ("retention_max_age_days", HUGE, None),
        ("retention_max_rows", NEGATIVE, None),
        ("retention_max_rows", ("1",), 1),
        ("retention_max_rows", ("3000000000",), 3_000_000_000),
        ("retention_max_rows", HUGE, None),
        ("dead_letter_max_age_days", NEGATIVE, None),
        ("dead_letter_max_age_days", ("7",), 7),
        ("dead_letter_max_age_days", HUGE, None),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_number_counts_as_the_domain_says_and_silently(
    key: str,
    texts: tuple[str, ...],
    value: Any,
    store: StoreRow,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for text in texts:
        store(key, text)
        assert READERS[key]() == value, text[:50]
    assert not caplog.records


@pytest.mark.parametrize("key", ["retention_max_age_days", "dead_letter_max_age_days"])
def test_the_largest_age_is_one_that_postgresql_can_subtract(key: str, store: StoreRow) -> None:
    store(key, "36525")
    with connection.cursor() as cursor:
        cursor.execute("SELECT now() - make_interval(days => %s::int)", [READERS[key]()])
    store(key, "36526")
    assert READERS[key]() is None


def test_a_bad_value_is_warned_of_once_per_value(
    store: StoreRow, caplog: pytest.LogCaptureFixture
) -> None:
    def warnings_after_reading(text: str) -> int:
        store("sse_retry_ms", text)
        reading.sse_retry_ms()
        reading.sse_retry_ms()
        return len(caplog.records)

    assert warnings_after_reading("abc") == 1
    assert warnings_after_reading("abd") == 2
    assert warnings_after_reading("3000") == 2
    assert warnings_after_reading("abc") == 2
    store("retention_max_rows", "abc")
    reading.retention_max_rows()
    assert len(caplog.records) == 3


def test_the_memory_of_warnings_is_bounded(
    store: StoreRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_MAX_WARNED", 3)
    for number in range(10):
        store("sse_retry_ms", f"bad {number}")
        reading.sse_retry_ms()
    assert len(reading._warned) <= 3


def test_a_change_counts_at_the_next_read(store: StoreRow) -> None:
    store("interrupt_lease_ttl_seconds", "3600")
    assert reading.interrupt_lease_ttl() == timedelta(hours=1)
    store("interrupt_lease_ttl_seconds", "7200")
    assert reading.interrupt_lease_ttl() == timedelta(hours=2)
    Setting.objects.all().delete()
    assert reading.interrupt_lease_ttl() == timedelta(hours=24)


@pytest.mark.parametrize("key", READERS)
def test_a_read_is_one_select_and_writes_nothing(key: str, store: StoreRow) -> None:
    store(key, "abc")
    with CaptureQueriesContext(connection) as queries:
        READERS[key]()
    [query] = queries.captured_queries
    assert query["sql"].startswith("SELECT")
    assert list(Setting.objects.values_list("key", "value")) == [(key, "abc")]


@pytest.mark.django_db(transaction=True)
def test_reads_work_inside_and_outside_a_transaction() -> None:
    Setting.objects.create(key="sse_retry_ms", value="abc")
    assert reading.sse_retry_ms() == 3_000
    with transaction.atomic():
        assert reading.sse_retry_ms() == 3_000
        Setting.objects.update(value="500")
        assert reading.sse_retry_ms() == 500


def test_no_environment_variable_changes_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in TUNABLES:
        for name in (key, key.upper(), f"SWITCHBOARD_{key.upper()}", f"SETTING_{key.upper()}"):
            monkeypatch.setenv(name, "7777")
    for name in ("INTERRUPT_LEASE_TTL", "LEASE_MAX_TTL", "MAX_LEASE_SECONDS", "SSE_RETRY"):
        monkeypatch.setenv(name, "7777")
    assert {key: read() for key, read in READERS.items()} == DEFAULTS
    # Executed anew, so that a default taken from the environment at import would show.
    spec = importlib.util.find_spec("settings_app.registry")
    assert spec is not None
    assert spec.loader is not None
    fresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fresh)
    assert {key: tunable.default for key, tunable in fresh.TUNABLES.items()} == {
        key: tunable.default for key, tunable in TUNABLES.items()
    }


def test_a_report_pairs_the_stored_value_with_its_effect(store: StoreRow) -> None:
    store("interrupt_lease_ttl_seconds", "0")
    off = reading.report("interrupt_lease_ttl_seconds")
    store("interrupt_lease_ttl_seconds", "9" * 40)
    never = reading.report("interrupt_lease_ttl_seconds")
    absent = reading.report("sse_retry_ms")
    assert (off.stored, off.words) == ("0", "0 → the sweep is off")
    assert never.words.endswith("→ never, no wait is ever reclaimed")
    assert (absent.stored, absent.words) == (None, "3000 ms (3 s), the default")
    with pytest.raises(KeyError):
        reading.report("no_such_key")


def test_all_reports_cost_one_query(store: StoreRow) -> None:
    for key in TUNABLES:
        store(key, "45")
    with CaptureQueriesContext(connection) as queries:
        reports = reading.report_all()
    assert len(queries) == 1
    assert [report.tunable.key for report in reports] == list(TUNABLES)
    assert {report.stored for report in reports} == {"45"}
