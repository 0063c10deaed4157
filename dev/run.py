"""`make run`: everything that Switchboard needs, in one terminal, until Ctrl-C."""

import argparse
import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import FrameType

from dev.services import PROJECT, Services, exclusive
from dev.supervisor import Supervisor, end_leftovers

HOST = "127.0.0.1"
READY_SECONDS = 120

# In a container one is often root, and a page of warning about it would hide the first lines.
QUIET = ["-W", "ignore:You're running the worker with superuser privileges"]
CELERY = [sys.executable, *QUIET, "-m", "celery", "--quiet", "-A", "switchboard"]


class Stop(BaseException):
    """Asked to end. Not an Exception: nothing on the way may swallow it."""


def stop_on_signal(_number: int, _: FrameType | None) -> None:
    # Once is enough: a second Ctrl-C must not break off the orderly end.
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise Stop


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.run")
    parser.add_argument("--port", default=os.environ.get("PORT") or "8000")
    parser.add_argument("--state", type=Path, default=PROJECT / ".switchboard")
    arguments = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop_on_signal)
    try:
        with exclusive(arguments.state / "run.lock", timeout=0):
            end_leftovers(arguments.state / "programs")
            return run(usable_port(arguments.port), arguments.state)
    except TimeoutError:
        return fail("Switchboard already runs in this folder: press Ctrl-C in its terminal first.")
    except RuntimeError as error:
        return fail(str(error))
    except Stop:
        return 0


def fail(line: str) -> int:
    print(line, file=sys.stderr)
    return 1


def usable_port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise RuntimeError("PORT is malformed. Accepted: a number from 1 to 65535.")
    port = int(text)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise RuntimeError(
                f"Port {port} cannot be used ({error.strerror}): choose another one,"
                f" as in `make run PORT={port + 1 if port < 65535 else 8000}`."
            ) from None
    return port


def run(port: int, state: Path) -> int:
    print("Starting …", flush=True)
    with contextlib.ExitStack() as stack:
        services = Services(state)
        stack.callback(services.stop)
        services.start()
        require_broker(services.redis_url)
        env = environment(services, state)
        stack.callback((state / "env.json").unlink, missing_ok=True)
        (state / "env.json").touch(mode=0o600)
        (state / "env.json").write_text(json.dumps(env))
        env = os.environ | env
        login = prepare(env, state)
        supervisor = Supervisor(state / "programs")
        stack.callback(supervisor.stop)
        start_programs(supervisor, env, port)
        return watch(supervisor, env, port, login)


def environment(services: Services, state: Path) -> dict[str, str]:
    key = state / "secret-key"
    key.touch(mode=0o600)
    if not key.read_text():
        key.write_text(secrets.token_urlsafe(50))
    return {
        "DATABASE_URL": services.database_url,
        "REDIS_URL": services.redis_url,
        "SECRET_KEY": key.read_text(),
        "ALLOWED_HOSTS": f"localhost,{HOST}",
        "BEHIND_TLS_PROXY": "0",
        "DEBUG": "0",
        "PYTHONUNBUFFERED": "1",
    }


def require_broker(url: str) -> None:
    """In one line and before anything else starts: Celery would retry for ever, and say so."""
    import redis

    try:
        with redis.Redis.from_url(url, socket_connect_timeout=5, socket_timeout=5) as client:
            client.ping()
    except (redis.RedisError, ValueError) as error:
        raise RuntimeError(f"REDIS_URL cannot be used: {error}") from None


def prepare(env: dict[str, str], state: Path) -> dict[str, str | None]:
    """Migrations and demo data, in a process of its own: this one stays free of Django."""
    done = subprocess.run(
        [sys.executable, "-m", "dev.demo", str(state)],
        env=env,
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        start_new_session=True,
    )
    if done.returncode:
        raise RuntimeError("The database could not be prepared: see above.")
    login: dict[str, str | None] = json.loads(done.stdout.splitlines()[-1])
    return login


def start_programs(supervisor: Supervisor, env: dict[str, str], port: int) -> None:
    uvicorn = [sys.executable, "-m", "uvicorn", "--no-access-log", "--lifespan", "off"]
    # Without it the end would wait for every open stream.
    uvicorn += ["--timeout-graceful-shutdown", "3"]
    address = ["--host", HOST, "--port", str(port), "switchboard.asgi:application"]
    # DEBUG for the web process only: it makes the others remember every statement they run.
    supervisor.start("web", [*uvicorn, *address], env | {"DEBUG": "1"})
    supervisor.start("worker", [*CELERY, "worker", "--concurrency=1", f"-n{node(port)}"], env)


def watch(
    supervisor: Supervisor, env: dict[str, str], port: int, login: dict[str, str | None]
) -> int:
    announced = False
    deadline = time.monotonic() + READY_SECONDS
    while True:
        if (ended := supervisor.ended()) is not None:
            return fail(f"{ended[0]} ended with status {ended[1]}, so everything stops.")
        if not announced:
            announced = web_answers(port) and worker_answers(env["REDIS_URL"], port)
            if announced:
                # Last, so that even on a slow machine the first tick comes after these lines.
                supervisor.start("beat", [*CELERY, "beat"], env)
                print(welcome(port, login), flush=True)
            elif time.monotonic() > deadline:
                return fail(f"Not up after {READY_SECONDS} s, so everything stops.")
        time.sleep(0.2)


def web_answers(port: int) -> bool:
    # Without the proxy that http_proxy may name: it could not reach this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://{HOST}:{port}/admin/login/", timeout=5):
            return True
    except OSError:
        return False


def node(port: int) -> str:
    return f"switchboard-{port}@{socket.gethostname()}"


def worker_answers(redis_url: str, port: int) -> bool:
    from celery import Celery

    from switchboard.env import broker_url

    with Celery(broker=broker_url(redis_url), set_as_current=False) as app:
        # By name: on a shared Redis another deployment's worker might answer.
        return bool(app.control.ping(timeout=0.5, destination=[node(port)]))


def welcome(port: int, login: dict[str, str | None]) -> str:
    password = login["password"] or "(set elsewhere: `make manage do='changepassword operator'`)"
    url = f"http://{HOST}:{port}/"
    return f"""
Switchboard is up: {url}
  login: {login["user"]}   password: {password}

Three things to try:
  1. Open the board, {url}board/ . On the first start it shows in about half a
     minute how the reaper's tick reclaims the demo wait that is 25 hours old, and this log says
     "reaped expired leases count=1". Answer another wait there.
  2. Set interrupt_lease_ttl_seconds to 3600 in {url}admin/settings_app/setting/
     It says what that would do, and asks. The next tick takes the two waits that are hours old.
  3. In a second terminal, `make manage do="reap --dry-run"` says what the next tick would do and
     `make manage do=doctor` checks every invariant.

Ctrl-C stops everything; the data stays in .switchboard/.
"""


if __name__ == "__main__":
    sys.exit(main())
