"""Faults in the middle of the work: afterwards `doctor`, counters included, finds nothing."""

import contextlib
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from django.db.models import F

from settings_app.models import Setting
from tests.factories import copies, make_claimed, make_waiting
from tests.processes.programs import (
    Program,
    Programs,
    database_url,
    own_broker,
    own_database,
    wait_until,
)
from todos import doctor, reaper
from todos.models import Attempt, Counter, Todo

pytestmark = pytest.mark.django_db(transaction=True)

OVERDUE = timedelta(hours=25)
MANY = 1_300
"""More than two batches of a sweep."""

CLAIM_NEXT = """
import django
django.setup()
from todos import transitions
from todos.models import Endpoint
claim = transitions.claim_next(Endpoint.objects.get(), None, owner="second")
print(claim.todo.pk, flush=True)
"""


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    with own_broker() as broker:
        yield Programs(broker, tmp_path)


@pytest.fixture
def holder() -> Iterator[psycopg.Connection]:
    """A session beside the workers', to hold locks with."""
    with psycopg.connect(database_url()) as session:
        yield session


def many_waits(number: int = MANY) -> list[str]:
    todo = make_waiting(age=OVERDUE)
    return [todo.pk, *copies(todo, number - 1)]


def one(query: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return int(cursor.fetchone()[0])


def let_the_next_tick_run() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM reaper_ticks")


def sessions_that_wait_for_a_lock() -> int:
    return one(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )


def sessions() -> int:
    return one(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND backend_type = 'client backend'"
    )


def reclaimed() -> int:
    return sum(
        Counter.objects.filter(name="interrupt_leases_reclaimed").values_list("value", flat=True)
    )


def assert_healthy_with(reaped: int) -> None:
    assert not [str(violation) for violation in doctor.examine()]
    assert reclaimed() == Attempt.objects.filter(outcome="reaped").count() == reaped


def test_a_worker_killed_between_two_batches_counted_the_first_and_no_more(
    programs: Programs, holder: psycopg.Connection
) -> None:
    waits = many_waits()
    youngest = waits[-1]
    Todo.objects.filter(pk=youngest).update(interrupted_at=F("interrupted_at") + timedelta(hours=1))
    holder.execute("SELECT FROM todo_attempts WHERE todo_id = %s FOR UPDATE", [youngest])
    with programs.worker() as worker:
        programs.send_tick()
        wait_until(sessions_that_wait_for_a_lock, "the last batch in front of the held row")
        worker.kill()
    holder.rollback()
    wait_until(lambda: not sessions_that_wait_for_a_lock(), "the end of the dead session")
    assert_healthy_with(reaped=1_000)
    with programs.worker():
        programs.send_tick()
        wait_until(lambda: reclaimed() == MANY, "the rest")
    assert_healthy_with(reaped=MANY)


def test_a_claimer_killed_before_its_commit_took_nothing_and_counted_nothing(
    holder: psycopg.Connection, tmp_path: Path
) -> None:
    todo = make_claimed(owner="first", lapsed_for=timedelta(minutes=5))
    holder.execute("SELECT FROM todo_attempts WHERE todo_id = %s FOR UPDATE", [todo.pk])
    env = {"DATABASE_URL": database_url(), "DJANGO_SETTINGS_MODULE": "switchboard.settings"}
    command = [sys.executable, "-c", CLAIM_NEXT]
    with Program(command, tmp_path / "claimer.log", env) as claimer:
        wait_until(
            sessions_that_wait_for_a_lock, f"a claim in front of the held row: {claimer.log}"
        )
        claimer.kill()
    holder.rollback()
    wait_until(lambda: sessions() == 2, "the end of the dead session")
    todo.refresh_from_db()
    # The server learns of the death only when it answers: either nothing happened or all of it.
    assert (todo.owner, todo.attempts_total) in {("first", 1), ("second", 2)}
    counted = sum(Counter.objects.values_list("value", flat=True))
    assert counted == todo.attempts_total - 1
    assert not list(doctor.examine())


@contextlib.contextmanager
def web(directory: Path, port: int) -> Iterator[Program]:
    command = [sys.executable, "-m", "uvicorn", "--lifespan", "off", "--port", str(port)]
    env = {
        "DATABASE_URL": database_url(),
        "REDIS_URL": "redis://localhost",
        "SWITCHBOARD_METRICS_TOKEN": TOKEN,
        "ALLOWED_HOSTS": "127.0.0.1",
    }
    log = directory / f"web-{port}.log"
    with Program([*command, "switchboard.asgi:application"], log, env) as program:
        program.wait_for("Uvicorn running")
        yield program


TOKEN = "faults-" + "0123456789abcdef" * 2


def scrape(port: int) -> list[str]:
    from urllib.request import Request, urlopen

    request = Request(f"http://127.0.0.1:{port}/metrics")
    request.add_header("Authorization", f"Bearer {TOKEN}")
    with urlopen(request, timeout=30) as response:
        lines = response.read().decode().splitlines()
    return [line for line in lines if line.startswith(("switchboard_todo", "switchboard_interr"))]


def test_every_web_process_shows_the_same_counters_and_none_takes_them_with_it(
    tmp_path: Path, unused_tcp_ports: list[int]
) -> None:
    first, second = unused_tcp_ports
    many_waits(3)
    with web(tmp_path, first) as killed, web(tmp_path, second):
        assert reaper.reap_expired() == 3
        shown = scrape(first)
        assert 'switchboard_interrupt_leases_reclaimed_total{queue="inbox"} 3.0' in shown
        assert scrape(second) == shown
        killed.kill()
        assert scrape(second) == shown
    assert_healthy_with(reaped=3)


@pytest.fixture
def unused_tcp_ports() -> list[int]:
    import socket

    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports = [int(listener.getsockname()[1]) for listener in sockets]
    for listener in sockets:
        listener.close()
    return ports


def test_postgresql_stopped_hard_in_a_mass_expiry_loses_and_doubles_nothing(
    programs: Programs, tmp_path: Path
) -> None:
    with own_database(tmp_path) as database, programs.worker():
        waits = many_waits()
        with contextlib.closing(psycopg.connect(database_url())) as holder:
            holder.execute("SELECT FROM todo_attempts WHERE todo_id = %s FOR UPDATE", [waits[-1]])
            programs.send_tick()
            wait_until(sessions_that_wait_for_a_lock, "a batch in front of the held row")
            connection.close()
            database.restart("immediate")
        assert_healthy_with(reaped=reclaimed())
        assert reclaimed() < MANY
        let_the_next_tick_run()
        programs.send_tick()
        wait_until(lambda: reclaimed() == MANY, "the rest")
        assert_healthy_with(reaped=MANY)


def test_a_full_server_costs_ticks_and_no_work(programs: Programs, tmp_path: Path) -> None:
    with own_database(tmp_path) as database, programs.worker() as worker:
        many_waits(20)
        connection.close()
        with contextlib.ExitStack() as crowd:
            with contextlib.suppress(psycopg.OperationalError):
                while True:
                    crowd.enter_context(psycopg.connect(database.url))
            programs.send_tick()
            worker.wait_for("too many clients already")
        programs.send_tick()
        wait_until(lambda: reclaimed() == 20, "all of them, once there was room")
        assert_healthy_with(reaped=20)


def test_a_short_statement_timeout_in_a_mass_expiry_only_makes_batches_smaller(
    programs: Programs, tmp_path: Path
) -> None:
    with own_database(tmp_path), programs.worker() as worker:
        many_waits(5_000)
        with connection.cursor() as cursor:
            cursor.execute("ALTER ROLE postgres SET statement_timeout = '100ms'")
        programs.send_tick()
        worker.wait_for("reaped expired leases")
        let_the_next_tick_run()
        programs.send_tick()
        wait_until(lambda: reclaimed() == 5_000, "all of them")
        assert "passed over" not in worker.log
        assert_healthy_with(reaped=5_000)


def test_junk_in_the_settings_meanwhile_stops_no_sweep(programs: Programs) -> None:
    many_waits()
    with (
        programs.worker(),
        programs.worker(),
        programs.beat(every=0.1),
        programs.beat(every=0.1),
    ):
        for value in ("junk", "", "24h", "9" * 5_000, "١٢٣", "0x10", "86400"):
            Setting.objects.update_or_create(
                key="interrupt_lease_ttl_seconds", defaults={"value": value}
            )
            let_the_next_tick_run()
            wait_until(lambda: one("SELECT count(*) FROM reaper_ticks") == 1, f"a tick on {value}")
        wait_until(lambda: reclaimed() == MANY, "all of them")
    assert_healthy_with(reaped=MANY)
