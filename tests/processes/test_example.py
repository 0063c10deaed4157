"""The workers in `examples`, as users run them, against everything that a deployment runs."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from django.conf import LazySettings

from dev.services import PROJECT
from settings_app.models import Setting
from tests.factories import age, endings
from tests.processes.programs import (
    Program,
    Programs,
    database_url,
    free_port,
    own_broker,
    wait_until,
)
from todos import endpoints, transitions
from todos.feed.publisher import publisher
from todos.models import Endpoint, ReaperTick, Todo

pytestmark = pytest.mark.django_db(transaction=True)

QUESTION = {"question": "How shall I do this: Rename the repository?"}
ANSWER = {"answer": "to switchboard"}


@dataclass
class Desk:
    """A deployment, and an endpoint that was vended there."""

    directory: Path
    site: str
    endpoint: Endpoint
    credential: str
    interpreter: str
    script: str

    def worker(self, name: str) -> Program:
        env = {
            "SWITCHBOARD_URL": self.site,
            "SWITCHBOARD_CREDENTIAL": self.credential,
            "PYTHONUNBUFFERED": "1",
            "NO_PROXY": "127.0.0.1",
        }
        command = [self.interpreter, str(PROJECT / "examples" / self.script)]
        return Program(command, self.directory / f"{name}.log", env)

    def todo(self) -> Todo:
        todo, _ = transitions.create(self.endpoint, queue="inbox", title="Rename the repository")
        return todo

    def resume(self, todo: Todo) -> None:
        """What a colleague does who has the same credential."""
        answer = httpx.post(
            f"{self.site}/api/v1/todos/{todo.pk}/resume",
            json={"result": ANSWER},
            headers={"Authorization": f"Bearer {self.credential}"},
            trust_env=False,
        )
        assert answer.status_code == 200, answer.text


@pytest.fixture
def script() -> str:
    """The example that is tested: `tests/shell` has the other one."""
    return "worker.py"


@pytest.fixture
def desk(script: str, tmp_path: Path, settings: LazySettings) -> Iterator[Desk]:
    with ExitStack() as stack:
        broker = stack.enter_context(own_broker())
        settings.REDIS_URL = broker.url
        publisher._forget()
        stack.callback(publisher._forget)
        programs = Programs(broker, tmp_path)
        stack.enter_context(programs.worker())
        stack.enter_context(programs.beat())
        site = stack.enter_context(_web(broker.url, tmp_path))
        endpoint, credential = endpoints.vend(name="desk", queues=["inbox"])
        interpreter = sys.executable if script.endswith(".py") else "bash"
        yield Desk(tmp_path, site, endpoint, credential, interpreter, script)


@contextmanager
def _web(redis_url: str, directory: Path) -> Iterator[str]:
    """The web process as the README starts it; yields its address."""
    port = str(free_port())
    site = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "uvicorn", "switchboard.asgi:application"]
    command += ["--host", "127.0.0.1", "--port", port, "--timeout-graceful-shutdown", "5"]
    env = {"DATABASE_URL": database_url(), "REDIS_URL": redis_url, "ALLOWED_HOSTS": "127.0.0.1"}
    with Program(command, directory / "web.log", env) as program:
        program.wait_for("Uvicorn running on")
        yield site


def state(todo: Todo) -> str:
    return str(Todo.objects.values_list("state", flat=True).get(pk=todo.pk))


def asks(todo: Todo) -> None:
    wait_until(lambda: state(todo) == "input-required", f"a question about {todo.pk}")


def test_a_worker_asks_and_goes_on_with_what_a_colleague_or_an_operator_answers(
    desk: Desk,
) -> None:
    with desk.worker("worker") as worker:
        first = desk.todo()
        asks(first)
        desk.resume(first)
        worker.wait_for(f"completed {first.pk}")
        second = desk.todo()
        asks(second)
        transitions.resume(None, second.pk, owner=None, result=ANSWER, renew_lease=True)
        worker.wait_for(f"completed {second.pk}")
        assert "to switchboard" in worker.lines("the answer")[0]
        assert not worker.lines("earlier attempt")
        assert worker.is_running()
    for todo in (first, second):
        todo.refresh_from_db()
        assert (todo.state, todo.result) == ("done", ANSWER)
        assert endings(todo) == [("completed", "done", "claimed")]


def test_who_takes_over_from_a_killed_worker_reads_what_it_had_asked(desk: Desk) -> None:
    Setting.objects.create(key="interrupt_lease_ttl_seconds", value="60")
    todo = desk.todo()
    with desk.worker("killed") as killed:
        asks(todo)
        killed.kill()
    with desk.worker("second") as second:
        age(todo, interrupted_at=timedelta(minutes=1))
        ReaperTick.objects.all().delete()
        second.wait_for(f"claimed {todo.pk}")
        asks(todo)
        (line,) = second.lines("an earlier attempt had asked")
        assert QUESTION["question"] in line
        todo.refresh_from_db()
        assert todo.result == QUESTION
        desk.resume(todo)
        second.wait_for(f"completed {todo.pk}")
    assert endings(todo) == [
        ("reaped", "requeued", "input-required"),
        ("completed", "done", "claimed"),
    ]
