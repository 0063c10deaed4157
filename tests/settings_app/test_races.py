"""Two sessions on one row at the same moment, on real connections."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import Client

from settings_app import forms
from tests.settings_app.conftest import StoreRow
from tests.settings_app.pages import TTL, change_url, opened, stored, text

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def psql() -> Iterator[BaseDatabaseWrapper]:
    """A second session with a transaction of its own, such as somebody's psql."""
    other = connection.copy()
    # So that a save which waits without end becomes a failed test and not one that hangs.
    _run(other, "SET idle_in_transaction_session_timeout = '20s'")
    other.set_autocommit(False)
    yield other
    other.close()


def _run(session: BaseDatabaseWrapper, sql: str) -> None:
    with session.cursor() as cursor:
        cursor.execute(sql)


def _post(client: Client, fields: dict[str, str]) -> Any:
    try:
        return client.post(change_url(), fields)
    finally:
        connections.close_all()


def _wait_until_somebody_waits_for(session: BaseDatabaseWrapper) -> None:
    with session.cursor() as cursor, connection.cursor() as watching:
        cursor.execute("SELECT pg_backend_pid()")
        pid = cursor.fetchone()
        for _ in range(100_000):
            watching.execute(
                "SELECT 1 FROM pg_locks WHERE NOT granted AND %s = ANY(pg_blocking_pids(pid))", pid
            )
            if watching.fetchone():
                return
    raise AssertionError("nobody waits")


def _save_during(psql: BaseDatabaseWrapper, sql: str, client: Client) -> Any:
    """Saves 1800 while another session has executed `sql` and has not yet committed it."""
    fields = opened(client)
    _run(psql, sql)
    with ThreadPoolExecutor(1) as pool:
        saving = pool.submit(_post, client, {**fields, "value": "1800"})
        _wait_until_somebody_waits_for(psql)
        psql.commit()
        return saving.result(timeout=30)


@pytest.mark.parametrize(
    ("before", "sql", "after"),
    [
        (None, f"INSERT INTO settings VALUES ('{TTL}', '7200')", "7200"),
        ("3600", "UPDATE settings SET value = '7200'", "7200"),
        ("3600", "DELETE FROM settings", None),
    ],
    ids=["insert", "update", "delete"],
)
def test_a_save_that_waited_for_another_sees_what_that_left(
    before: str | None,
    sql: str,
    after: str | None,
    psql: BaseDatabaseWrapper,
    operator: Client,
    store: StoreRow,
) -> None:
    if before:
        store(TTL, before)
    page = text(_save_during(psql, sql, operator))
    assert f"It was set to {after or 'the default 86400'}" in page
    assert stored() == after
    assert not LogEntry.objects.exists()


def test_a_row_that_stays_locked_is_said_and_not_waited_for(
    psql: BaseDatabaseWrapper,
    operator: Client,
    store: StoreRow,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forms, "_LOCK_TIMEOUT", "50ms")
    store(TTL, "3600")
    fields = opened(operator)
    _run(psql, "UPDATE settings SET value = '7200'")
    response = operator.post(change_url(), {**fields, "value": "1800"}, follow=True)
    assert "Not saved: another database session keeps this setting locked." in text(response)
    assert stored() == "3600"


def test_a_save_whose_history_fails_is_undone(
    operator: Client, store: StoreRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("no history")

    store(TTL, "3600")
    fields = opened(operator)
    monkeypatch.setattr(LogEntry.objects, "log_actions", fail)
    with pytest.raises(RuntimeError, match="no history"):
        operator.post(change_url(), {**fields, "value": "1800"})
    assert stored() == "3600"
