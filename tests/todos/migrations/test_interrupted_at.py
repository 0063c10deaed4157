"""Migration 0031 on a table in use: what it changes, what it leaves, and the way back."""

from types import ModuleType

import pytest

from tests.todos.migrations.database import AFTER, BEFORE, Database

INDEX = "todos_interrupted_idx"
_HOLD_ONE = "SELECT FROM todos WHERE id = 'td_mail_input-required_2' FOR NO KEY UPDATE"
STAMPS = "SELECT id, interrupted_at = updated_at FROM todos WHERE interrupted_at IS NOT NULL"


def _add_column_and_index(database: Database) -> None:
    """The first two steps, by hand: who holds a row holds those up, not the stamps."""
    database.session.execute("ALTER TABLE todos ADD COLUMN interrupted_at timestamptz")
    database.session.execute(
        f"CREATE INDEX {INDEX} ON todos (interrupted_at)"
        " WHERE state IN ('input-required', 'auth-required')"
    )


def test_it_stamps_the_waits_and_changes_nothing_else(
    database: Database, migration: ModuleType
) -> None:
    database.seed()
    before = database.todos()

    database.migrate(AFTER)

    assert database.todos() == before
    assert sorted(database.rows(STAMPS)) == sorted(
        (todo_id, True)
        for todo_id, todo in before.items()
        if todo["state"] in ("input-required", "auth-required")
    )


def test_the_way_back_leaves_schema_and_rows_as_before(
    database: Database, migration: ModuleType
) -> None:
    database.seed()
    schema, todos = database.schema(), database.todos()

    database.migrate(AFTER)
    assert database.schema() != schema
    database.migrate(BEFORE)

    assert database.schema() == schema
    assert database.todos() == todos


def test_it_can_be_applied_again(database: Database, migration: ModuleType) -> None:
    database.seed()
    database.migrate(AFTER)
    schema = database.schema()
    database.migrate(BEFORE)

    database.migrate(AFTER)

    assert database.schema() == schema
    assert database.unstamped() == 0


def test_a_column_dropped_by_hand_comes_back_by_going_back_and_forth(
    database: Database, migration: ModuleType
) -> None:
    database.seed()
    database.migrate(AFTER)
    schema = database.schema()

    database.session.execute("ALTER TABLE todos DROP COLUMN interrupted_at")
    database.migrate(BEFORE)
    database.migrate(AFTER)

    assert database.schema() == schema
    assert database.unstamped() == 0


def test_what_an_operator_built_in_advance_is_kept(
    database: Database, migration: ModuleType
) -> None:
    database.seed()
    _add_column_and_index(database)
    schema, oid = database.schema(), database.rows(f"SELECT '{INDEX}'::regclass::oid")

    database.migrate(AFTER)

    assert (database.schema(), database.rows(f"SELECT '{INDEX}'::regclass::oid")) == (schema, oid)
    assert database.unstamped() == 0


def test_a_stamp_that_is_there_is_kept(database: Database, migration: ModuleType) -> None:
    database.seed()
    database.session.execute("ALTER TABLE todos ADD COLUMN interrupted_at timestamptz")
    database.session.execute(
        "UPDATE todos SET interrupted_at = '2025-01-01' WHERE id = 'td_mail_input-required_1'"
    )

    database.migrate(AFTER)

    rows = database.rows("SELECT count(*) FROM todos WHERE interrupted_at = '2025-01-01'")
    assert rows == [(1,)]


def test_progress_is_told_and_an_empty_table_says_nothing(
    database: Database, migration: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    database.migrate(AFTER)
    assert capsys.readouterr().out == ""

    database.migrate(BEFORE)
    database.seed()
    database.migrate(AFTER)
    assert "stamped 12 of 12 waits" in capsys.readouterr().out


def test_a_wait_let_go_between_two_passes_is_stamped(
    database: Database, migration: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.seed()
    _add_column_and_index(database)
    holder = database.hold(_HOLD_ONE)
    monkeypatch.setattr("time.sleep", lambda seconds: holder.rollback())

    database.migrate(AFTER)

    assert database.unstamped() == 0


def test_a_wait_that_ended_since_it_was_found_gets_no_stamp(
    database: Database, migration: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.seed()
    stamp = migration.stamp

    def resume_first(connection: object, waits: list[str]) -> int:
        database.session.execute(
            "UPDATE todos SET state = 'claimed' WHERE id = 'td_mail_input-required_2'"
        )
        return int(stamp(connection, waits))

    monkeypatch.setattr(migration, "stamp", resume_first)
    database.migrate(AFTER)

    assert database.unstamped() == 0


def test_each_batch_is_a_commit_of_its_own(
    database: Database, migration: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration, "BATCH", 5)
    database.seed()

    database.migrate(AFTER)

    commits = database.rows(
        "SELECT count(*) FROM todos WHERE interrupted_at IS NOT NULL GROUP BY xmin::text"
    )
    assert sorted(commits) == [(2,), (5,), (5,)]


def test_a_wait_that_somebody_holds_is_left_and_counted(
    database: Database, migration: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    database.seed()
    _add_column_and_index(database)
    holder = database.hold(_HOLD_ONE)

    database.migrate(AFTER)

    holder.rollback()
    assert "1 waits are held by others or new" in capsys.readouterr().out
    assert database.unstamped() == 1


def test_old_processes_work_on_beside_it(database: Database, migration: ModuleType) -> None:
    database.seed()
    database.migrate(AFTER)

    # They know no stamp: one opens a wait without, one resumes a wait and leaves the stamp.
    for state, todo in (("input-required", "claimed_1"), ("claimed", "auth-required_1")):
        written = database.session.execute(
            "UPDATE todos SET state = %s WHERE id = %s", [state, f"td_mail_{todo}"]
        )
        assert written.rowcount == 1
    database.session.execute(
        "INSERT INTO todos (id, endpoint_id, queue, title)"
        " SELECT 'td_new', endpoint_id, 'inbox', 'new' FROM todos LIMIT 1"
    )


def test_the_waits_are_found_by_the_index_among_many_rows(
    database: Database, migration: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.seed()
    database.session.execute(
        "INSERT INTO todos (id, endpoint_id, queue, title, state)"
        " SELECT 'td_' || number, endpoint_id, 'inbox', 'a title',"
        "        CASE WHEN number % 2 = 0 THEN 'input-required' ELSE 'done' END"
        " FROM generate_series(1, 20000) AS number, (SELECT endpoint_id FROM todos LIMIT 1) AS _"
    )
    database.session.execute("ANALYZE todos")
    plans = {}

    def explain(query: str, *params: object) -> str:
        return "\n".join(line for (line,) in database.rows(f"EXPLAIN {query}", *params))

    def stamp(connection: object, waits: list[str]) -> int:
        plans["find"] = explain(migration._UNSTAMPED)
        plans["stamp"] = explain(migration._STAMP, waits[:100])
        return len(waits)

    monkeypatch.setattr(migration, "stamp", stamp)
    database.migrate(AFTER)

    assert INDEX in plans["find"]
    assert "todos_pkey" in plans["stamp"]
    assert INDEX not in plans["stamp"]
    assert "Seq Scan" not in plans["find"] + plans["stamp"]
