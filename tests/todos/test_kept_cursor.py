"""The cursor that statements keep: it belongs to its thread and ends with its connection."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from django.db import DatabaseError, OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from tests.factories import OWNER, make_claimed
from todos import sql, transitions
from todos.models import Todo


def server_pid() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def now() -> datetime:
    row = sql.fetch_one("now", {})
    assert row is not None
    moment = row[0]
    assert isinstance(moment, datetime)
    return moment


@pytest.mark.django_db
def test_statements_share_one_cursor() -> None:
    now()
    first = sql._session.cursor
    now()
    assert sql._session.cursor is first


@pytest.mark.django_db(transaction=True)
def test_a_new_connection_gets_a_new_cursor() -> None:
    now()
    first = sql._session.cursor
    connection.close()
    now()
    assert sql._session.cursor is not first
    assert sql._session.cursor.connection is connection.connection


@pytest.mark.django_db(transaction=True)
def test_a_statement_after_the_server_ended_the_session_works_again() -> None:
    now()
    pid = server_pid()
    with ThreadPoolExecutor(1) as other:

        def end() -> None:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
            connection.close()

        other.submit(end).result()
    with pytest.raises(OperationalError):
        now()
    connection.close_if_unusable_or_obsolete()
    assert server_pid() != pid
    now()


@pytest.mark.django_db(transaction=True)
def test_each_thread_keeps_its_own() -> None:
    now()

    def in_thread() -> tuple[object, int]:
        now()
        try:
            return sql._session.cursor, server_pid()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        cursor, pid = other.submit(in_thread).result()
    assert cursor is not sql._session.cursor
    assert pid != server_pid()


@pytest.mark.django_db
def test_times_are_read_as_the_orm_reads_them() -> None:
    todo = make_claimed()
    written = transitions.heartbeat(None, todo.pk, owner=None)
    read = Todo.objects.get(pk=todo.pk)
    for field in ("created_at", "updated_at", "claimed_at", "lease_expires_at"):
        assert getattr(written, field) == getattr(read, field), field
        assert getattr(written, field).utcoffset() == UTC.utcoffset(None), field


@pytest.mark.django_db
def test_statements_are_among_the_captured_queries() -> None:
    todo = make_claimed()
    with CaptureQueriesContext(connection) as queries:
        transitions.heartbeat(None, todo.pk, owner=OWNER)
    assert len(queries) == 1


@pytest.mark.django_db
def test_in_a_broken_transaction_a_statement_is_refused() -> None:
    with transaction.atomic():
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT 1/0")
        transaction.set_rollback(True)
        with pytest.raises(transaction.TransactionManagementError):
            now()
        transaction.set_rollback(False)
    now()
