"""ADR-0046: the clock of a wait, its deadline and the operator's override."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from settings_app import reading
from settings_app.models import Setting
from tests.factories import (
    ANSWER,
    ASKED,
    OWNER,
    STRANGER,
    age,
    assert_invariants,
    endings,
    lapse,
    make_claimed,
    make_waiting,
)
from tests.todos.seen import seconds, watch
from todos import lease, reaper, transitions
from todos.errors import TodoConflict
from todos.models import Todo
from todos.states import INTERRUPT_STATES

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
TTL_KEY = "interrupt_lease_ttl_seconds"


def set_ttl(value: str) -> None:
    Setting.objects.update_or_create(key=TTL_KEY, defaults={"value": value})


def by_sql(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def test_the_default_is_the_longest_lease_by_reference() -> None:
    assert reading.interrupt_lease_ttl() == seconds(lease.MAX_TTL) == 24 * HOUR


def test_the_floor_is_the_shortest_lease_an_endpoint_may_have() -> None:
    set_ttl("1")
    assert reading.interrupt_lease_ttl() == seconds(lease.MIN_DEFAULT) == seconds(60)


@pytest.mark.parametrize(
    ("ttl", "waited", "reclaimed"),
    [
        (None, 24 * HOUR - seconds(30), False),
        (None, 24 * HOUR, True),
        ("3600", HOUR - seconds(30), False),
        ("3600", HOUR, True),
        ("60", seconds(30), False),
        ("60", seconds(60), True),
        # Below the floor: raised to it, so what waited longer than the row says stays.
        ("45", seconds(50), False),
        ("45", seconds(60), True),
        ("1", seconds(30), False),
        ("1", seconds(60), True),
        ("172800", 47 * HOUR, False),
        ("172800", 48 * HOUR, True),
        ("3155760000", timedelta(days=36_524), False),
        ("3155760000", timedelta(days=36_526), True),
        ("3155760001", timedelta(days=36_526), False),
    ],
)
@pytest.mark.parametrize("state", INTERRUPT_STATES)
def test_a_wait_lapses_when_its_ttl_is_over_and_not_before(
    state: str, ttl: str | None, waited: timedelta, reclaimed: bool
) -> None:
    if ttl is not None:
        set_ttl(ttl)
    todo = make_waiting(state=state, age=waited)
    with watch(todo) as seen:
        assert reaper.reap_expired() == reclaimed
    assert bool(seen.columns) is reclaimed


@pytest.mark.parametrize(
    ("stored", "day_old_wait_goes"),
    [
        ("", True),
        ("   ", True),
        ("24h", True),
        ("60.5", True),
        ("1e5", True),
        ("١٢٣", True),
        ("1_000", True),
        ("60\n", True),
        (" 0", True),
        ("none", True),
        ("-5", False),
        ("+0", False),
        ("9" * 40, False),
        ("9" * 5000, False),
        ("-" + "9" * 5000, False),
    ],
    ids=lambda value: repr(value)[:12],
)
def test_a_tick_works_whatever_the_row_says(stored: str, day_old_wait_goes: bool) -> None:
    set_ttl(stored)
    old, young = make_waiting(age=25 * HOUR), make_waiting(age=23 * HOUR)
    result = reaper.tick()
    assert (result.reaped, result.good) == (int(day_old_wait_goes), True)
    assert (Todo.objects.get(pk=old.pk).state == "pending") is day_old_wait_goes
    assert Todo.objects.get(pk=young.pk).state == "input-required"


@pytest.mark.parametrize(
    "touch",
    [
        "UPDATE todos SET updated_at = statement_timestamp()",
        """UPDATE todos SET result = '{"answer": 1}', updated_at = statement_timestamp()""",
        "UPDATE todos SET lease_expires_at = statement_timestamp() + interval '1 day'",
        "UPDATE todos SET claimed_at = statement_timestamp(), title = 'other'",
    ],
)
def test_touching_a_wait_does_not_move_its_deadline(touch: str) -> None:
    make_waiting(age=24 * HOUR)
    by_sql(touch)
    assert reaper.reap_expired() == 1


def test_an_old_updated_at_does_not_bring_the_deadline_forward() -> None:
    age(make_waiting(), updated_at=25 * HOUR, claimed_at=25 * HOUR, created_at=25 * HOUR)
    assert reaper.reap_expired() == 0


@pytest.mark.parametrize("state", INTERRUPT_STATES)
@pytest.mark.parametrize("operator", [False, True])
def test_a_heartbeat_in_a_wait_is_a_conflict_and_extends_nothing(
    state: str, operator: bool
) -> None:
    todo = make_waiting(state=state, age=23 * HOUR)
    endpoint = None if operator else todo.endpoint
    with watch(todo) as seen, pytest.raises(TodoConflict, match=f"claimed; this one is {state}"):
        transitions.heartbeat(endpoint, todo.pk, owner=OWNER, lease_ttl_seconds=86_400)
    assert (seen.columns, seen.attempts) == ({}, {})


@pytest.mark.parametrize("state", INTERRUPT_STATES)
def test_nobody_takes_over_a_wait_however_long_its_lease_has_lapsed(state: str) -> None:
    todo = lapse(make_waiting(state=state, age=23 * HOUR), 22 * HOUR)
    with pytest.raises(TodoConflict):
        transitions.claim(todo.endpoint, todo.pk, owner=STRANGER)
    assert transitions.claim_next(todo.endpoint, None, owner=STRANGER) is None
    assert reaper.reap_expired() == 0


def test_a_wait_outlives_every_lease_that_could_still_resume_it() -> None:
    todo = make_waiting(lease_ttl_seconds=lease.MAX_TTL)
    todo = age(todo, interrupted_at=24 * HOUR - seconds(30), lease_expires_at=24 * HOUR)
    assert reaper.reap_expired() == 0


def test_the_lease_clock_never_stops_so_a_plain_resume_gives_a_lapsed_lease() -> None:
    todo = lapse(make_waiting(age=2 * HOUR))
    resumed = transitions.resume(todo.endpoint, todo.pk, owner=OWNER, result=ANSWER)
    assert (resumed.state, resumed.lease_expires_at) == ("claimed", todo.lease_expires_at)
    assert reaper.reap_expired() == 1
    assert endings(todo) == [("reaped", "requeued", "claimed")]
    assert Todo.objects.get().result == ANSWER


def test_after_a_plain_resume_of_a_lapsed_lease_others_may_claim() -> None:
    todo = lapse(make_waiting(age=2 * HOUR))
    transitions.resume(todo.endpoint, todo.pk, owner=OWNER)
    claim = transitions.claim_next(todo.endpoint, None, owner=STRANGER)
    assert claim is not None
    assert endings(todo)[0] == ("lease_expired", "requeued", "claimed")


def test_a_resume_that_asks_for_a_lease_is_safe_from_the_reaper() -> None:
    todo = lapse(make_waiting(age=2 * HOUR))
    transitions.resume(todo.endpoint, todo.pk, owner=OWNER, lease_ttl_seconds=60)
    assert reaper.reap_expired() == 0
    assert transitions.claim_next(todo.endpoint, None, owner=STRANGER) is None


def test_a_plain_resume_within_the_lease_keeps_what_is_left_of_it() -> None:
    todo = make_waiting(lease_ttl_seconds=600)
    todo = age(todo, lease_expires_at=seconds(300))
    resumed = transitions.resume(todo.endpoint, todo.pk, owner=OWNER)
    assert resumed.lease_expires_at == todo.lease_expires_at
    assert reaper.reap_expired() == 0


def test_a_second_wait_has_a_clock_of_its_own() -> None:
    todo = make_waiting(age=23 * HOUR)
    transitions.resume(todo.endpoint, todo.pk, owner=OWNER, lease_ttl_seconds=600)
    todo = transitions.interrupt(todo.endpoint, todo.pk, owner=OWNER, state="auth-required")
    assert todo.interrupted_at == todo.updated_at
    age(todo, interrupted_at=2 * HOUR)
    assert reaper.reap_expired() == 0


def unstamped(waited: timedelta, **fields: Any) -> Todo:
    """A wait that a process from before 0031 began."""
    todo = make_waiting(**fields)
    by_sql(f"UPDATE todos SET interrupted_at = NULL WHERE id = '{todo.pk}'")
    return age(todo, updated_at=waited)


@pytest.mark.parametrize("ttl", ["86400", "0", "9" * 40])
@pytest.mark.parametrize("sweep", [reaper.reap_interrupted, reaper.reap_expired, reaper.tick])
@pytest.mark.parametrize("state", INTERRUPT_STATES)
def test_an_unstamped_wait_gets_the_stamp_of_its_last_change(
    state: str, sweep: object, ttl: str
) -> None:
    set_ttl(ttl)
    todo = unstamped(2 * HOUR, state=state)
    assert callable(sweep)
    with watch(todo) as seen:
        sweep()
    stamped = Todo.objects.get()
    assert (stamped.interrupted_at, stamped.updated_at) == (todo.updated_at, todo.updated_at)
    assert set(seen.columns) == {"interrupted_at"}
    assert (seen.attempts, seen.hooks) == ({}, [])
    assert_invariants()


def test_an_unstamped_wait_that_is_overdue_goes_in_the_same_tick() -> None:
    todo = unstamped(25 * HOUR)
    assert reaper.tick().reaped == 1
    assert Todo.objects.get(pk=todo.pk).result == ASKED
    assert_invariants()


def test_an_unstamped_wait_can_be_answered_called_off_and_reclaimed() -> None:
    for verb in ("resume", "cancel", "reclaim"):
        todo = unstamped(HOUR)
        if verb == "resume":
            transitions.resume(todo.endpoint, todo.pk, owner=OWNER)
        elif verb == "cancel":
            transitions.cancel(todo.endpoint, todo.pk)
        else:
            reaper.reclaim_now(todo.pk)
    assert_invariants()


@pytest.mark.parametrize("verb", ["complete", "fail", "release"])
def test_a_stamp_that_an_older_process_left_goes_with_the_end_of_the_attempt(verb: str) -> None:
    todo = make_claimed()
    by_sql("UPDATE todos SET interrupted_at = statement_timestamp() - interval '9 days'")
    assert reaper.reap_expired() == 0
    getattr(transitions, verb)(todo.endpoint, todo.pk, owner=OWNER)
    assert Todo.objects.get().interrupted_at is None
    assert_invariants()


def test_a_stamp_that_an_older_process_left_goes_with_a_takeover_and_a_reap() -> None:
    taken, reaped = make_claimed(lapsed_for=HOUR), make_claimed(lapsed_for=HOUR)
    by_sql("UPDATE todos SET interrupted_at = statement_timestamp() - interval '9 days'")
    transitions.claim(taken.endpoint, taken.pk, owner=STRANGER)
    assert reaper.reap_expired() == 1
    assert set(Todo.objects.values_list("interrupted_at", flat=True)) == {None}
    assert endings(reaped) == [("reaped", "requeued", "claimed")]


def test_the_dead_letter_of_an_unstamped_wait_says_since_when() -> None:
    todo = unstamped(HOUR, max_attempts=1)
    dead = reaper.reclaim_now(todo.pk)
    assert dead.result is not None
    since = f"{todo.updated_at:%Y-%m-%dT%H:%M:%SZ}"
    assert dead.result["detail"].startswith(f"input-required since {since}, reclaimed by")
