"""A server that was restarted between ticks needs nobody's help: the next tick works."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from dev.valkey import Valkey
from tests.processes.programs import Programs, own_broker, own_database, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def broker() -> Iterator[Valkey]:
    with own_broker() as broker:
        yield broker


@pytest.fixture
def programs(broker: Valkey, tmp_path: Path) -> Programs:
    return Programs(broker, tmp_path)


def forget_the_last_tick() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM reaper_ticks")


def has_ticked() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM reaper_ticks)")
        return bool(cursor.fetchone()[0])


def test_ticks_go_on_after_a_restart_of_the_broker(programs: Programs, broker: Valkey) -> None:
    with programs.worker(), programs.beat():
        wait_until(has_ticked, "a first tick")
        broker.halt()
        forget_the_last_tick()
        broker.start()
        wait_until(has_ticked, "a tick after the restart")


def test_ticks_go_on_after_a_restart_of_postgresql(programs: Programs, tmp_path: Path) -> None:
    with own_database(tmp_path) as database, programs.worker(), programs.beat():
        wait_until(has_ticked, "a first tick")
        connection.close()
        database.restart("immediate")
        forget_the_last_tick()
        wait_until(has_ticked, "a tick after the restart")


def test_worker_and_beat_wait_for_a_broker_that_comes_late(
    programs: Programs, broker: Valkey
) -> None:
    broker.halt()
    with programs.beat() as beat:
        beat.wait_for("Connection error")
        broker.start()
        with programs.worker():
            wait_until(has_ticked, "a tick")


def test_a_worker_ends_in_order(programs: Programs) -> None:
    with programs.worker() as worker:
        assert worker.terminate() == 0
