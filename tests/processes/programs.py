"""Real workers and beats on the test's database, and servers of a test's own to restart.

They see committed rows only: mark the test `django_db(transaction=True)`.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import psutil
from celery import Celery
from django.core.management import call_command
from django.db import connections
from psycopg.conninfo import make_conninfo

from dev.postgres import NOT_DURABLE, Postgres
from dev.services import PROJECT
from dev.supervisor import end_groups
from dev.valkey import Valkey
from switchboard.env import broker_url

DEADLINE_SECONDS = 30.0
NOT_OF_LIBPQ = {"server_side_binding", "prepare_threshold", "pool"}


def wait_until(
    condition: Callable[[], object], what: str, *, seconds: float = DEADLINE_SECONDS
) -> None:
    """Poll until it is true; fail with `what` was awaited if that never happens."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain: {what}"
        time.sleep(0.05)


def database_url() -> str:
    """The database that this test uses, as a connection string for another process."""
    settings = connections["default"].settings_dict
    names = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST"}
    parts = {key: settings[name] for key, name in (names | {"port": "PORT"}).items()}
    options = {k: v for k, v in settings["OPTIONS"].items() if k not in NOT_OF_LIBPQ}
    return make_conninfo(**{key: value for key, value in (options | parts).items() if value})


class Program:
    """A started process, and what it has said so far: printed if its `with` block fails."""

    def __init__(self, command: list[str], log: Path, env: dict[str, str]) -> None:
        self._log = log
        with log.open("wb") as file:
            self._process = subprocess.Popen(
                command,
                cwd=PROJECT,
                env=os.environ | env,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def lines(self, text: str) -> list[str]:
        return [line for line in self.log.splitlines() if text in line]

    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait_for(self, text: str, *, seconds: float = DEADLINE_SECONDS) -> None:
        wait_until(lambda: text in self.log, f"{text!r} in {self._log.name}", seconds=seconds)

    def children(self) -> list[int]:
        """A worker's pool: the processes that run its tasks."""
        return [child.pid for child in psutil.Process(self.pid).children(recursive=True)]

    def kill(self) -> None:
        """SIGKILL, its children included: as a power cut would end it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def terminate(self) -> int:
        """SIGTERM and its exit status: an orderly end."""
        end_groups([self.pid], lambda: not self.is_running())
        return self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        self.terminate()
        if failure is not None:
            print(f"--- {self._log.name}\n{self.log}")  # noqa: T201


class Programs:
    """Starts workers and beats for one broker; logs go to `directory`."""

    def __init__(self, broker: Valkey, directory: Path) -> None:
        self.broker = broker
        self.directory = directory
        self._count = 0

    @contextlib.contextmanager
    def worker(self, *, concurrency: int = 1) -> Iterator[Program]:
        """A worker that already answers."""
        name = self._name("worker")
        options = [f"--concurrency={concurrency}", f"--hostname={name}@tests"]
        with self._start(name, ["-A", "switchboard", "worker", *options]) as program:
            with Celery(broker=broker_url(self.broker.url), set_as_current=False) as app:
                ping = app.control.ping
                wait_until(
                    lambda: ping(timeout=0.2, destination=[f"{name}@tests"]),
                    f"an answer of {name}",
                )
            yield program

    @contextlib.contextmanager
    def beat(self, *, every: float = 0.5) -> Iterator[Program]:
        """A beat that sends the tick every so many seconds. A tick within 15 s of the last good one
        does nothing: tests move that stamp, not the guard."""
        with self._start(self._name("beat"), ["-A", "tests.processes.fast", "beat"], every) as beat:
            yield beat

    @contextlib.contextmanager
    def web(self, *, port: int | None = None, **env: str) -> Iterator[tuple[Program, str]]:
        """A web process that already answers, and its address; `env` is added to its environment.

        DEBUG is on unless it is said otherwise: it serves the style sheets uncollected.
        """
        port = free_port() if port is None else port
        address = f"http://127.0.0.1:{port}"
        env = {"DEBUG": "1", "ALLOWED_HOSTS": "127.0.0.1"} | env
        options = ["--host", "127.0.0.1", "--port", str(port), "--lifespan", "off"]
        options += ["--timeout-graceful-shutdown", "3"]
        command = [sys.executable, "-m", "uvicorn", "--no-access-log", *options]
        name = self._name("web")
        log = self.directory / f"{name}.log"
        env |= {"DATABASE_URL": database_url(), "REDIS_URL": self.broker.url}
        with Program([*command, "switchboard.asgi:application"], log, env) as program:
            wait_until(
                lambda: not program.is_running() or _answers(f"{address}/admin/login/"),
                f"an answer of {name}",
            )
            assert program.is_running(), program.log
            yield program, address

    def send_tick(self) -> None:
        """What a beat does, once."""
        from switchboard.celery import TICK, app

        with app.connection_for_write(url=broker_url(self.broker.url)) as connection:
            app.send_task(TICK, connection=connection)

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"{kind}-{self._count}"

    def _start(self, name: str, arguments: list[str], every: float = 30) -> Program:
        env = {
            "DATABASE_URL": database_url(),
            "REDIS_URL": self.broker.url,
            "TESTS_BEAT_EVERY_SECONDS": str(every),
            "PYTHONUNBUFFERED": "1",
        }
        command = [sys.executable, "-W", "ignore:You're running the worker", "-m", "celery", "-q"]
        return Program([*command, *arguments], self.directory / f"{name}.log", env)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _answers(url: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=5):
            return True
    except OSError:
        return False


@contextlib.contextmanager
def own_broker() -> Iterator[Valkey]:
    """Empty, and this test's alone. `halt()` and `start()` restart it at the same address."""
    broker = Valkey()
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()


@contextlib.contextmanager
def own_database(directory: Path) -> Iterator[Postgres]:
    """A migrated PostgreSQL of this test's alone, which Django's default connection then uses.

    `restart()` restarts it at the same address; `restart("immediate")` is a crash. Its log is left
    in `directory`.
    """
    # The data is elsewhere: root's PostgreSQL is another user's, and each start of a pytest closes
    # the directory above all of its temporary ones to others again.
    home = Path(tempfile.mkdtemp(prefix="switchboard-own-"))
    server = Postgres(home / "postgres", options=NOT_DURABLE)
    default = connections["default"]
    default.close()
    before = dict(default.settings_dict)
    try:
        server.start()
        own = {"NAME": server.database, "USER": "postgres", "PASSWORD": "", "PORT": ""}
        default.settings_dict.update(own, HOST=str(server.socket_dir))
        call_command("migrate", verbosity=0)
        yield server
    finally:
        default.close()
        default.settings_dict.update(before)
        server.stop()
        if server.log.exists():
            shutil.copy(server.log, directory / "postgres.log")
        shutil.rmtree(home, ignore_errors=True)
