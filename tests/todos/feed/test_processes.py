"""Hints of other processes: one that ends at once, one that is forked, a real worker."""

import os
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connections

from dev.valkey import Valkey
from tests.factories import make_endpoint, make_waiting
from tests.processes.programs import Program, Programs, database_url, wait_until
from tests.todos.feed.listening import Loop
from todos.feed.publisher import publisher

pytestmark = pytest.mark.django_db(transaction=True)

CREATE = """
import django
django.setup()
from todos import transitions
from todos.models import Endpoint
transitions.create(Endpoint.objects.get(), queue="inbox", title="work")
transitions.create(Endpoint.objects.get(), queue="inbox", title="more work")
"""

CREATE_IN_A_FORK = """
import os, django
django.setup()
from django.db import connections
from todos import transitions
from todos.models import Endpoint
endpoint = Endpoint.objects.get()
transitions.create(endpoint, queue="inbox", title="the parent's")
connections.close_all()
child = os.fork()
if not child:
    transitions.create(endpoint, queue="inbox", title="the child's")
    from todos.feed.publisher import publisher
    publisher.flush()
    os._exit(0)
os.waitpid(child, 0)
"""


@pytest.mark.parametrize("code", [CREATE, CREATE_IN_A_FORK], ids=["at exit", "in a fork"])
def test_a_process_that_ends_at_once_delivers_all_of_its_hints(
    redis_server: Valkey, loop: Loop, tmp_path: Path, code: str
) -> None:
    endpoint = make_endpoint()
    env = {
        "DATABASE_URL": database_url(),
        "REDIS_URL": redis_server.url,
        "DJANGO_SETTINGS_MODULE": "switchboard.settings",
    }
    with loop.listening(endpoint.pk) as heard:
        with Program([sys.executable, "-c", code], tmp_path / "short.log", env) as program:
            wait_until(lambda: not program.is_running(), "the end of the program")
            assert program.log == ""
        wait_until(lambda: len(heard.hints) == 2, "both hints", seconds=2)
    assert {hint.transition for hint in heard.hints} == {"create"}


def test_a_child_sends_nothing_of_what_its_parent_had_gathered(
    redis_server: Valkey, loop: Loop
) -> None:
    todo = make_waiting()
    with loop.listening() as heard:
        publisher.add([todo], "interrupt")
        connections.close_all()
        child = os.fork()
        if not child:
            publisher.flush()
            os._exit(len(publisher._message.hints))
        assert os.waitpid(child, 0)[1] == 0
        wait_until(lambda: heard.hints, "the parent's hint", seconds=2)
    assert heard.moves() == [(todo.pk, "interrupt")]


def test_the_reclaim_of_a_worker_arrives_in_the_web_process(
    redis_server: Valkey, loop: Loop, tmp_path: Path
) -> None:
    todo = make_waiting(age=timedelta(hours=25))
    programs = Programs(redis_server, tmp_path)
    with programs.worker(), loop.listening(todo.endpoint_id) as heard:
        programs.send_tick()
        wait_until(lambda: heard.hints, "the hint of the reclaim", seconds=10)
    (hint,) = heard.hints
    assert (hint.todo, hint.transition, hint.state) == (todo.pk, "reclaim lapsed wait", "pending")
    assert hint.waited == pytest.approx(25 * 3600, abs=60)
