"""Migration 0031 cut off at each step: what is left does no harm, and a second run completes."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from django.db import OperationalError
from psycopg import errors

from tests.todos.migrations.database import AFTER, BEFORE, BUILD, Database

DROP = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'DROP INDEX%%' AND wait_event IS NOT NULL"
VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('todos_interrupted_idx')"


class CutOff(Exception):
    """Stands for whatever ends a migration from outside."""


def cut_off(*args: Any) -> Any:
    raise CutOff


@pytest.fixture
def whole(database: Database, migration: ModuleType) -> set[Any]:
    """The schema that an undisturbed run leaves; the database is back at BEFORE, with rows."""
    database.migrate(AFTER)
    schema = database.schema()
    database.migrate(BEFORE)
    database.seed()
    return schema


def completes(database: Database, whole: set[Any]) -> None:
    assert AFTER not in database.applied()
    database.django.close()
    database.migrate(AFTER)
    assert AFTER in database.applied()
    assert database.schema() == whole
    assert database.unstamped() == 0


def in_the_middle_of_the_stamps(migration: ModuleType) -> Callable[..., Any]:
    """Let one batch through."""
    ask, batches = migration.rows, iter([True])

    def rows(connection: Any, sql: str, params: Any = None) -> Any:
        if sql == migration._STAMP and not next(batches, False):
            raise CutOff
        return ask(connection, sql, params)

    return rows


@pytest.mark.parametrize(("step", "unstamped"), [("build_index", 12), ("stamp", 12), ("rows", 7)])
def test_cut_off_before_a_step(
    database: Database,
    migration: ModuleType,
    whole: set[Any],
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    unstamped: int,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(migration, "BATCH", 5)
        cut = in_the_middle_of_the_stamps(migration) if step == "rows" else cut_off
        patch.setattr(migration, step, cut)
        with pytest.raises(CutOff):
            database.migrate(AFTER)

    assert database.unstamped() == unstamped
    completes(database, whole)


@pytest.mark.parametrize(
    ("end", "error"),
    [("pg_cancel_backend", errors.QueryCanceled), ("pg_terminate_backend", errors.AdminShutdown)],
)
def test_cut_off_while_the_index_is_built(
    database: Database,
    migration: ModuleType,
    whole: set[Any],
    end: str,
    error: type[Exception],
    capsys: pytest.CaptureFixture[str],
) -> None:
    database.session.execute("ALTER TABLE todos ADD COLUMN interrupted_at timestamptz")
    holder = database.hold("UPDATE todos SET title = title WHERE id = 'td_mail_done_1'")
    run = database.start(AFTER)
    database.rows(f"SELECT {end}(%s)", database.until(BUILD))

    with pytest.raises(OperationalError) as raised:
        run.result(15)
    assert isinstance(raised.value.__cause__, error)
    assert database.rows(VALID) == [(False,)]
    holder.rollback()

    completes(database, whole)
    assert "an interrupted build left invalid" in capsys.readouterr().out


def test_the_way_back_cut_off_while_the_index_is_dropped(
    database: Database, migration: ModuleType, whole: set[Any]
) -> None:
    before = database.schema()
    database.migrate(AFTER)
    holder = database.hold("UPDATE todos SET title = title WHERE id = 'td_mail_done_1'")
    run = database.start(BEFORE)
    database.rows("SELECT pg_cancel_backend(%s)", database.until(DROP))
    with pytest.raises(OperationalError):
        run.result(15)
    holder.rollback()
    assert AFTER in database.applied()
    assert database.rows(VALID) == [(False,)]

    database.migrate(BEFORE)

    assert database.schema() == before


def test_what_it_sets_for_its_session_is_put_back(
    database: Database, migration: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = (
        "SELECT current_setting('lock_timeout'), current_setting('statement_timeout'),"
        " (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')"
    )
    for name in ("lock_timeout", "statement_timeout"):
        database.session.execute(f"ALTER DATABASE {database.name} SET {name} = '7s'")
    database.seed()

    def now() -> Any:
        with database.django.cursor() as cursor:
            cursor.execute(settings)
            return cursor.fetchone()

    with monkeypatch.context() as patch:
        patch.setattr(migration, "stamp", cut_off)
        with pytest.raises(CutOff):
            database.migrate(AFTER)
    assert now() == ("7s", "7s", 0)
    database.migrate(AFTER)
    assert now() == ("7s", "7s", 0)
