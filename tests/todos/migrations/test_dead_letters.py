"""Migration 0017: the waits that revoked endpoints left behind."""

from importlib import import_module
from types import ModuleType

import pytest

from tests.todos.migrations.database import BEFORE, REVOKED, Database

STRANDED = {f"td_gone_{state}-required_{n}" for state in ("input", "auth") for n in (1, 2, 3)}


@pytest.fixture
def dead_letters(database: Database, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, in batches smaller than the stranded rows; the database is before it."""
    module = import_module(f"todos.migrations.{BEFORE}")
    monkeypatch.setattr(module, "BATCH", 2)
    database.migrate("0001_initial")
    database.seed()
    return module


def test_stranded_waits_become_dead_letters_that_explain_themselves(
    database: Database, dead_letters: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    before = database.todos()

    database.migrate(BEFORE)

    after = database.todos()
    assert {todo_id for todo_id in before if after[todo_id] != before[todo_id]} == STRANDED
    for todo_id in STRANDED:
        was, row = before[todo_id], after[todo_id]
        assert row["completed_at"] == row["updated_at"] > was["updated_at"]
        assert row == was | {
            "state": "failed",
            "owner": None,
            "lease_expires_at": None,
            "next_retry_at": None,
            "completed_at": row["completed_at"],
            "updated_at": row["updated_at"],
            "result": {
                "error": "endpoint_revoked",
                "detail": "endpoint gone was revoked at 2026-01-02T03:04:05Z and left this todo"
                f" waiting ({was['state']})",
            },
        }
    assert "dead-lettered 6 waits" in capsys.readouterr().out


def test_their_attempts_are_closed_and_no_others(
    database: Database, dead_letters: ModuleType
) -> None:
    states = {todo_id: todo["state"] for todo_id, todo in database.todos().items()}

    database.migrate(BEFORE)

    closed = database.rows(
        "SELECT todo_id, ended_from, outcome, disposition, ended_at = todos.completed_at"
        " FROM todo_attempts JOIN todos ON todos.id = todo_id WHERE ended_at IS NOT NULL"
    )
    assert set(closed) == {
        (todo_id, states[todo_id], "revoked", "dead_lettered", True) for todo_id in STRANDED
    }


def test_it_can_run_twice(database: Database, dead_letters: ModuleType) -> None:
    database.migrate(BEFORE)
    once = database.todos()

    database.migrate("0001_initial")
    assert database.todos() == once
    database.migrate(BEFORE)

    assert database.todos() == once


def test_cut_off_between_two_batches_it_goes_on_where_it_stopped(
    database: Database, dead_letters: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    class CutOff(Exception):
        pass

    batch, runs = dead_letters.dead_letter_batch, iter([True])

    def once(*args: object) -> int:
        if not next(runs, False):
            raise CutOff
        return int(batch(*args))

    with monkeypatch.context() as patch:
        patch.setattr(dead_letters, "dead_letter_batch", once)
        with pytest.raises(CutOff):
            database.migrate(BEFORE)
    waits = "SELECT count(*) FROM todos WHERE endpoint_id = %s AND state = ANY(%s)"
    states = ["input-required", "auth-required"]
    assert database.rows(waits, REVOKED, states) == [(4,)]

    database.migrate(BEFORE)

    assert database.rows(waits, REVOKED, states) == [(0,)]


def test_what_a_transition_in_flight_does_is_seen(
    database: Database, dead_letters: ModuleType
) -> None:
    """A resume that holds its row commits first: the row is claimed now, and not its to end."""
    holder = database.hold(
        "UPDATE todos SET state = 'claimed' WHERE id = 'td_gone_auth-required_1'"
    )
    run = database.start(BEFORE)
    database.until(
        "SELECT pid FROM pg_stat_activity"
        " WHERE query LIKE '%%FOR NO KEY UPDATE%%' AND wait_event_type = 'Lock'"
    )
    holder.commit()
    run.result(15)

    rows = database.todos()
    assert rows["td_gone_auth-required_1"]["state"] == "claimed"
    assert {rows[todo_id]["state"] for todo_id in STRANDED} == {"claimed", "failed"}
    assert database.rows(
        "SELECT count(*) FROM todos JOIN todo_attempts ON todo_id = todos.id"
        " WHERE (ended_at IS NULL) <> (todos.owner IS NOT NULL)"
    ) == [(0,)]
