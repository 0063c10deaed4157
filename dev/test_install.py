"""A production installation: requirements.txt and the code alone, each process started once.

A package that only the development environment brings, or an import of `dev`, fails here.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psycopg

from dev.services import PROJECT, Services
from dev.supervisor import Supervisor

CODE = ("manage.py", "requirements.txt", "settings_app", "switchboard", "todos")
DEADLINE_SECONDS = 60


def main() -> int:
    base = Path(tempfile.mkdtemp(prefix="switchboard-install-"))
    supervisor = Supervisor(base / "programs")
    try:
        python = install(base)
        with Services() as services:
            env = environment(services)
            try:
                try_out(base, python, env, supervisor)
            finally:
                supervisor.stop()
    finally:
        shutil.rmtree(base, ignore_errors=True)
    print("A production installation migrates, serves, and ticks.")
    return 0


def install(base: Path) -> str:
    for name in CODE:
        source = PROJECT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, base / name)
    subprocess.run([sys.executable, "-m", "venv", str(base / "venv")], check=True)
    python = str(base / "venv" / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", str(base / "requirements.txt")], check=True)
    return python


def environment(services: Services) -> dict[str, str]:
    # Not this process's own: a variable of the developer's shell is not part of an installation.
    return {
        "PATH": os.environ["PATH"],
        "SECRET_KEY": "an-installation-that-lives-for-a-minute-" + "0123456789",
        "ALLOWED_HOSTS": "127.0.0.1",
        "DATABASE_URL": services.database_url,
        "REDIS_URL": services.redis_url,
    }


def try_out(base: Path, python: str, env: dict[str, str], supervisor: Supervisor) -> None:
    for command in (["migrate", "--verbosity=0"], ["collectstatic", "--noinput", "--verbosity=0"]):
        subprocess.run([python, "manage.py", *command], cwd=base, env=env, check=True)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    bind = ["--host", "127.0.0.1", "--port", str(port)]
    celery = [python, "-m", "celery", "-A", "switchboard"]
    web = [python, "-m", "uvicorn", "switchboard.asgi:application", *bind]
    supervisor.start("web", web, env, base)
    supervisor.start("worker", [*celery, "worker", "--concurrency=1"], env, base)
    supervisor.start("beat", [*celery, "beat"], env, base)
    for path in ("admin/login/", "static/admin/css/base.css"):
        wait_until(partial(answers, f"http://127.0.0.1:{port}/{path}"), path, supervisor)
    wait_until(lambda: has_ticked(env["DATABASE_URL"]), "a tick of beat and worker", supervisor)


def answers(url: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=5) as page:
            return bool(page.status == 200)
    except urllib.error.HTTPError:
        raise
    except OSError:
        return False


def has_ticked(database_url: str) -> bool:
    with psycopg.connect(database_url) as connection:
        return connection.execute("SELECT FROM reaper_ticks").fetchone() is not None


def wait_until(condition: Callable[[], bool], what: str, supervisor: Supervisor) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        if (ended := supervisor.ended()) is not None:
            raise SystemExit(f"{ended[0]} ended with status {ended[1]}")
        if time.monotonic() > deadline:
            raise SystemExit(f"waited {DEADLINE_SECONDS} s in vain for {what}")
        time.sleep(0.2)


if __name__ == "__main__":
    os.environ.pop("DATABASE_URL", None)
    os.environ.pop("REDIS_URL", None)
    sys.exit(main())
