"""ADR-0046: its Confirmation, and what it says of the reaper's second predicate."""

import logging
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection, transaction

import settings_app
import todos
from settings_app.models import Setting
from tests.factories import (
    ANSWER,
    ASKED,
    OWNER,
    STRANGER,
    age,
    assert_invariants,
    endings,
    make_claimed,
    make_endpoint,
    make_pending,
    make_waiting,
)
from tests.todos.seen import NOW, heard, rows, seconds, watch
from todos import reaper, transitions
from todos.models import Attempt, Endpoint, Todo
from todos.states import INTERRUPT_STATES

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
TTL_KEY = "interrupt_lease_ttl_seconds"


def set_ttl(value: str) -> None:
    Setting.objects.update_or_create(key=TTL_KEY, defaults={"value": value})


def waits() -> int:
    """The question of Confirmation item 3, in its own words."""
    (answer,) = rows("SELECT count(*) FROM todos WHERE state IN ('input-required','auth-required')")
    count = answer["count"]
    assert isinstance(count, int)
    return count


def logged(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(r.levelname, r.getMessage()) for r in caplog.records if r.name.startswith("todos")]


# Confirmation 1: INFO reaped expired leases count=N on a tick where an interrupt actually aged
# out, and nothing at all when waits are healthy.


def test_confirmation_1_a_tick_in_which_a_wait_aged_out_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    make_waiting(age=25 * HOUR)
    make_waiting(age=25 * HOUR, max_attempts=1)
    make_claimed(lapsed_for=HOUR)
    make_waiting(age=HOUR)
    reaper.tick()
    assert logged(caplog) == [("INFO", "reaped expired leases count=3")]


def test_confirmation_1_a_tick_says_nothing_when_waits_are_healthy(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    for state in INTERRUPT_STATES:
        make_waiting(state=state, age=23 * HOUR)
    make_claimed()
    reaper.tick()
    assert logged(caplog) == []


def test_confirmation_1_the_next_tick_has_nothing_left_to_say(
    caplog: pytest.LogCaptureFixture,
) -> None:
    make_waiting(age=25 * HOUR)
    reaper.tick()
    caplog.set_level(logging.DEBUG)
    caplog.clear()
    reaper.tick()
    assert logged(caplog) == []


# Confirmation 2: the counters count what the ledger says: each reclaim closes one reaped attempt,
# marked by the state that it ended from.


def test_confirmation_2_each_reclaim_closes_one_reaped_attempt_from_an_interrupt_state() -> None:
    reclaimed = [
        make_waiting(state="input-required", age=25 * HOUR),
        make_waiting(state="auth-required", age=25 * HOUR, attempt=2, max_attempts=2),
    ]
    lapsed = make_claimed(lapsed_for=HOUR)
    assert reaper.reap_expired() == 3
    assert endings(reclaimed[0]) == [("reaped", "requeued", "input-required")]
    assert endings(reclaimed[1])[-1] == ("reaped", "dead_lettered", "auth-required")
    assert endings(lapsed) == [("reaped", "requeued", "claimed")]
    assert Attempt.objects.filter(outcome="reaped").count() == 3
    assert Attempt.objects.filter(ended_from__in=INTERRUPT_STATES).count() == 2


def test_confirmation_2_where_interrupts_get_answered_nothing_is_counted() -> None:
    todo = make_waiting(age=23 * HOUR)
    reaper.tick()
    transitions.resume(todo.endpoint, todo.pk, owner=OWNER, result=ANSWER, lease_ttl_seconds=60)
    reaper.tick()
    transitions.complete(todo.endpoint, todo.pk, owner=OWNER)
    assert endings(todo) == [("completed", "done", "claimed")]


# Confirmation 3: the number of waits stays bounded instead of growing with every crashed worker.


def test_confirmation_3_the_waits_of_crashed_workers_do_not_pile_up() -> None:
    endpoint = make_endpoint()
    for day in range(4):
        for state in INTERRUPT_STATES:
            make_waiting(endpoint=endpoint, state=state, age=25 * HOUR)
        assert waits() == 2, f"day {day}"
        reaper.tick()
        assert waits() == 0
    assert Todo.objects.filter(state="pending").count() == 8
    assert_invariants()


def test_confirmation_3_a_todo_whose_waits_are_never_answered_ends_at_its_cap() -> None:
    todo = make_pending(max_attempts=3)
    for _ in range(3):
        transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
        with_wait = transitions.interrupt(
            todo.endpoint, todo.pk, owner=OWNER, state="input-required", result=ASKED
        )
        assert with_wait.state == "input-required"
        age(todo, interrupted_at=24 * HOUR)
        reaper.tick()
    assert endings(todo) == [
        ("reaped", "requeued", "input-required"),
        ("reaped", "requeued", "input-required"),
        ("reaped", "dead_lettered", "input-required"),
    ]
    assert Todo.objects.get().condition == "failed, dead letter"


# Confirmation 4: setting interrupt_lease_ttl_seconds to 0 and re-running the tick reclaims
# nothing, without a deploy.


@pytest.mark.parametrize("off", ["0", "-1", "-86400"])
def test_confirmation_4_a_ttl_of_zero_reclaims_nothing_and_a_number_starts_it_again(
    off: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    todo = make_waiting(age=400 * 24 * HOUR)
    set_ttl(off)
    for _ in range(2):
        with watch(todo) as seen:
            reaper.tick()
        assert (seen.columns, seen.attempts, seen.hooks) == ({}, {}, [])
    assert logged(caplog) == []
    set_ttl("86400")
    assert reaper.tick().reaped == 1
    assert waits() == 0


def test_while_the_sweep_of_waits_is_off_lapsed_leases_are_reaped_all_the_same() -> None:
    make_waiting(age=25 * HOUR)
    lapsed = make_claimed(lapsed_for=HOUR)
    set_ttl("0")
    assert reaper.tick().reaped == 1
    assert Todo.objects.get(pk=lapsed.pk).state == "pending"


# The decision: deadline, then requeue.


@pytest.mark.parametrize("state", INTERRUPT_STATES)
@pytest.mark.parametrize("by", ["id", "queue"])
def test_the_next_claim_returns_what_was_asked(state: str, by: str) -> None:
    todo = make_waiting(state=state, age=25 * HOUR)
    reaper.tick()
    if by == "id":
        claim = transitions.claim(todo.endpoint, todo.pk, owner=STRANGER)
    else:
        found = transitions.claim_next(todo.endpoint, None, owner=STRANGER)
        assert found is not None
        claim = found
    assert claim.todo.result == ASKED
    assert (claim.todo.owner, claim.todo.attempt) == (STRANGER, 2)
    assert [(a.outcome, a.ended_from) for a in claim.prior_attempts] == [("reaped", state)]


def test_a_reclaim_fires_ready_and_its_dead_letter_does_not() -> None:
    requeued = make_waiting(age=25 * HOUR)
    dead = make_waiting(age=25 * HOUR, max_attempts=1)
    with heard() as sent:
        reaper.tick()
    assert sorted(sent) == sorted(
        [(requeued.pk, "pending"), (requeued.pk, "ready: requeued"), (dead.pk, "failed")]
    )


@pytest.mark.parametrize("waited", [HOUR, 25 * HOUR, 4000 * 24 * HOUR])
@pytest.mark.parametrize("end", ["revoked_at", "expires_at"])
@pytest.mark.parametrize("ttl", ["60", "86400"])
def test_waits_of_an_ended_endpoint_are_not_the_sweeps_at_any_age(
    ttl: str, end: str, waited: timedelta
) -> None:
    set_ttl(ttl)
    todo = make_waiting(age=waited)
    Endpoint.objects.update(**{end: todo.created_at})
    with watch(todo) as seen:
        assert reaper.reap_expired() == reaper.reap_interrupted() == 0
    assert (seen.columns, seen.attempts, seen.hooks) == ({}, {}, [])


def test_the_tick_dead_letters_them_as_revoked_and_never_requeues_them() -> None:
    todo = make_waiting(age=25 * HOUR)
    Endpoint.objects.update(revoked_at=todo.created_at)
    with watch(todo) as seen:
        reaper.tick()
    assert seen.hooks == ["failed"]
    assert endings(todo) == [("revoked", "dead_lettered", "input-required")]


# Consequences.


def test_a_todo_that_never_interrupts_is_written_exactly_as_before_0031() -> None:
    todo = make_pending()
    held = {"state": "claimed", "owner": OWNER, "claimed_at": NOW, "updated_at": NOW}
    let_go = {"owner": None, "lease_expires_at": None, "updated_at": NOW}
    life: list[tuple[str, dict[str, object]]] = [
        ("claim", held | {"lease_expires_at": seconds(300), "attempt": 1, "attempts_total": 1}),
        ("heartbeat", {"lease_expires_at": seconds(300)}),
        ("release", let_go | {"state": "pending"}),
        ("claim", held | {"lease_expires_at": seconds(300), "attempt": 2, "attempts_total": 2}),
        ("fail", let_go | {"state": "failed", "next_retry_at": seconds(60)}),
        ("retry", {"state": "pending", "attempt": 0, "next_retry_at": None, "updated_at": NOW}),
        ("claim", held | {"lease_expires_at": seconds(300), "attempt": 1, "attempts_total": 3}),
        ("complete", let_go | {"state": "done", "completed_at": NOW}),
    ]
    for verb, columns in life:
        arguments = {} if verb == "retry" else {"owner": OWNER}
        with watch(todo) as seen:
            getattr(transitions, verb)(todo.endpoint, todo.pk, **arguments)
            reaper.tick()
        assert seen.columns == columns, verb
    assert Todo.objects.get().interrupted_at is None
    assert [outcome for outcome, *_ in endings(todo)] == ["released", "failed", "completed"]


def test_rolling_back_is_one_alter_table() -> None:
    todo = make_waiting()
    column = (
        "SELECT count(*) FROM information_schema.columns"
        " WHERE table_name = 'todos' AND column_name = 'interrupted_at'"
    )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE todos DROP COLUMN interrupted_at")
        assert rows(column) == [{"count": 0}]
        assert rows("SELECT state, owner FROM todos WHERE id = %s", [todo.pk]) == [
            {"state": "input-required", "owner": OWNER}
        ]
        cursor.execute("UPDATE todos SET state = 'claimed'")
        transaction.set_rollback(True)
    assert rows(column) == [{"count": 1}]


@pytest.mark.parametrize(
    "name",
    [TTL_KEY, TTL_KEY.upper(), f"SWITCHBOARD_{TTL_KEY.upper()}", "INTERRUPT_LEASE_TTL"],
)
def test_no_environment_variable_changes_the_ttl(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "0")
    make_waiting(age=25 * HOUR)
    assert reaper.reap_interrupted() == 1


@pytest.mark.parametrize("app", [settings_app, todos])
def test_no_module_that_could_know_the_ttl_looks_at_the_environment(app: object) -> None:
    (folder,) = vars(app)["__path__"]
    sources = [path for path in Path(folder).rglob("*.py") if "migrations" not in path.parts]
    assert len(sources) > 5
    for path in sources:
        text = path.read_text()
        assert "environ" not in text.replace("environment", ""), path.name
        assert "getenv" not in text, path.name
