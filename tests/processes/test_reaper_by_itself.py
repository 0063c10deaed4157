"""The reaper as it runs for real: beat, broker and worker, faults included, with no hand on it."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
import redis
from django.db import connection

from settings_app.models import Setting
from tests.factories import ASKED, make_claimed, make_endpoint, make_waiting
from tests.processes.programs import (
    Program,
    Programs,
    database_url,
    own_broker,
    own_database,
    wait_until,
)
from todos import doctor
from todos.models import Attempt, Todo
from todos.states import State

pytestmark = pytest.mark.django_db(transaction=True)

OVERDUE = timedelta(hours=25)


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    with own_broker() as broker:
        yield Programs(broker, tmp_path)


@pytest.fixture
def holder() -> Iterator[psycopg.Connection]:
    """A session beside the workers', to hold locks with."""
    with psycopg.connect(database_url()) as session:
        yield session


def let_the_next_tick_run() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM reaper_ticks")


def ticks_that_wait_for_a_lock() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return int(cursor.fetchone()[0])


def states() -> list[str]:
    return sorted(Todo.objects.values_list("state", flat=True))


def lines_of_the_reaper(worker: Program) -> list[str]:
    return [line.partition("INFO ")[2] for line in worker.lines("reaped expired leases")]


def test_a_lapsed_wait_is_requeued_and_the_next_claimant_can_read_what_was_asked(
    programs: Programs,
) -> None:
    todo = make_waiting(age=OVERDUE)
    healthy = make_waiting(age=timedelta(hours=23))
    with programs.worker() as worker, programs.beat():
        wait_until(lambda: "pending" in states(), "the overdue wait back in its queue")
        let_the_next_tick_run()
        ticked = "SELECT count(*) FROM reaper_ticks"
        wait_until(lambda: _one(ticked) == 1, "another tick")
    assert lines_of_the_reaper(worker) == ["reaped expired leases count=1"]
    todo.refresh_from_db()
    healthy.refresh_from_db()
    assert (todo.state, todo.owner, todo.result) == (State.PENDING, None, ASKED)
    assert healthy.state == State.INPUT_REQUIRED
    assert not list(doctor.examine())


def test_the_operator_switches_the_sweep_off_and_on_while_it_runs(programs: Programs) -> None:
    Setting.objects.create(key="interrupt_lease_ttl_seconds", value="0")
    make_waiting(age=OVERDUE)
    with programs.worker(), programs.beat():
        wait_until(lambda: _one("SELECT count(*) FROM reaper_ticks") == 1, "a tick")
        assert states() == ["input-required"]
        Setting.objects.update(value="3600")
        let_the_next_tick_run()
        wait_until(lambda: states() == ["pending"], "the wait back in its queue")


def test_two_workers_and_two_beats_reap_each_row_once(programs: Programs) -> None:
    endpoint = make_endpoint()
    for _ in range(20):
        make_waiting(endpoint=endpoint, age=OVERDUE)
        make_claimed(endpoint=endpoint, lapsed_for=timedelta(minutes=5))
    with (
        programs.worker(concurrency=2) as first,
        programs.worker(concurrency=2) as second,
        programs.beat(every=0.1),
        programs.beat(every=0.1),
    ):
        wait_until(lambda: states() == ["pending"] * 40, "all of them back")
        let_the_next_tick_run()
        wait_until(lambda: _one("SELECT count(*) FROM reaper_ticks") == 1, "another tick")
    reaped = [*lines_of_the_reaper(first), *lines_of_the_reaper(second)]
    assert sum(int(line.rpartition("=")[2]) for line in reaped) == 40
    assert Attempt.objects.filter(outcome="reaped").count() == 40
    assert not list(doctor.examine())


def test_an_hour_without_workers_is_followed_by_one_effective_tick(programs: Programs) -> None:
    for _ in range(120):
        programs.send_tick()
    stamp = "SELECT extract(epoch FROM last_success_at) * 1000000 FROM reaper_ticks"
    with programs.worker(), redis.Redis.from_url(programs.broker.url) as broker:
        wait_until(lambda: broker.llen("switchboard") < 119, "the first ticks taken")
        wait_until(lambda: _one("SELECT count(*) FROM reaper_ticks") == 1, "an effective tick")
        first = _one(stamp)
        make_waiting(age=OVERDUE)
        wait_until(lambda: broker.llen("switchboard") == 0, "all of them taken")
    assert _one(stamp) == first
    assert states() == ["input-required"]


def test_a_worker_killed_in_the_middle_of_a_sweep_leaves_all_of_it_to_the_next(
    programs: Programs, holder: psycopg.Connection
) -> None:
    endpoint = make_endpoint()
    waits = [make_waiting(endpoint=endpoint, age=OVERDUE) for _ in range(5)]
    holder.execute("SELECT FROM todo_attempts WHERE todo_id = %s FOR UPDATE", [waits[2].pk])
    with programs.worker() as worker:
        programs.send_tick()
        wait_until(ticks_that_wait_for_a_lock, "the sweep in front of the held row")
        worker.kill()
    holder.rollback()
    wait_until(lambda: not ticks_that_wait_for_a_lock(), "the end of the dead worker's session")
    assert states() == ["input-required"] * 5
    assert not list(doctor.examine())
    with programs.worker() as worker:
        programs.send_tick()
        wait_until(lambda: states() == ["pending"] * 5, "all of them back")
    assert not list(doctor.examine())


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_of_postgresql_between_ticks_needs_no_hand(
    programs: Programs, tmp_path: Path, mode: str
) -> None:
    with own_database(tmp_path) as database, programs.worker(), programs.beat():
        wait_until(lambda: _one("SELECT count(*) FROM reaper_ticks") == 1, "a first tick")
        make_waiting(age=OVERDUE)
        connection.close()
        database.restart(mode)
        let_the_next_tick_run()
        wait_until(lambda: states() == ["pending"], "the wait back in its queue")
        assert not list(doctor.examine())


def _one(query: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return int(cursor.fetchone()[0])
