"""`make run`, as a newcomer's terminal sees it."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from dev.services import PROJECT, exclusive
from tests.processes.programs import Program, free_port, wait_until

EMBEDDED = {"DATABASE_URL": "", "REDIS_URL": ""}


@pytest.fixture
def state() -> Iterator[Path]:
    # Not in tmp_path: root's PostgreSQL is another user's, who may not pass through there.
    directory = Path(tempfile.mkdtemp(prefix="switchboard run "))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


def command(state: Path, port: int | str) -> list[str]:
    return [sys.executable, "-m", "dev.run", "--state", str(state), "--port", str(port)]


def refused(state: Path, port: int | str) -> str:
    done = subprocess.run(
        command(state, port),
        cwd=PROJECT,
        env=os.environ | EMBEDDED,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert not done.stdout
    (line,) = done.stderr.splitlines()
    return line


def test_a_port_in_use_is_one_line_and_nothing_is_started(state: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = refused(state, port)
    assert line.startswith(f"Port {port} cannot be used (Address already in use)")
    assert f"make run PORT={port + 1}" in line
    assert not (state / "postgres").exists()


@pytest.mark.parametrize("port", ["0", "65536", "web", "-1", "80.0"])
def test_a_malformed_port_is_one_line(state: Path, port: str) -> None:
    assert refused(state, port) == "PORT is malformed. Accepted: a number from 1 to 65535."


def test_a_second_one_in_the_same_folder_is_one_line(state: Path) -> None:
    with exclusive(state / "run.lock", timeout=0):
        line = refused(state, free_port())
    assert line.startswith("Switchboard already runs in this folder")


def test_the_demo_is_reclaimed_while_you_watch_and_survives_a_kill(
    state: Path, tmp_path: Path
) -> None:
    browser = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with started(state, tmp_path / "first.log") as (first, port):
        for path in ("admin/login/", "static/admin/css/base.css"):
            with browser.open(f"http://127.0.0.1:{port}/{path}", timeout=5) as page:
                assert page.status == 200
        first.wait_for("INFO reaped expired leases count=1", seconds=45)
        orphans = psutil.Process(first.pid).children(recursive=True)
        os.kill(first.pid, signal.SIGKILL)
    login = next(line for line in first.log.splitlines() if "password:" in line)

    with started(state, tmp_path / "second.log") as (second, _):
        assert login in second.log
        database = json.loads((state / "env.json").read_text())["DATABASE_URL"]
        with psycopg.connect(database) as connection:
            query = "SELECT state FROM todos WHERE title = 'Rename the repository'"
            assert connection.execute(query).fetchone() == ("pending",)
        assert not any(process.is_running() for process in orphans)
        children = psutil.Process(second.pid).children(recursive=True)
        os.kill(second.pid, signal.SIGINT)
        wait_until(lambda: not second.is_running(), "the end of everything")
    assert second.terminate() == 0
    wait_until(lambda: not any(process.is_running() for process in children), "its children too")


@contextlib.contextmanager
def started(state: Path, log: Path) -> Iterator[tuple[Program, int]]:
    port = free_port()
    with Program(command(state, port), log, EMBEDDED) as program:
        program.wait_for(f"Switchboard is up: http://127.0.0.1:{port}/", seconds=120)
        yield program, port
