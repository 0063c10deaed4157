"""PostgreSQL and Valkey for `make run` and for the tests.

They run under a small process of their own (this module as a program), which stops them as soon
as its standard input closes. So they end with their user however it ends, SIGKILL included, and a
Ctrl-C in the terminal does not reach them before it has been dealt with.
"""

import argparse
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

PROJECT = Path(__file__).resolve().parent.parent


class Services:
    """The servers that the environment does not already name. Usable as a context manager."""

    def __init__(self, directory: Path | None = None, *, binaries: Path | None = None) -> None:
        """With `directory` the data is kept there; without, it is temporary and not durable.

        `binaries` are those of another PostgreSQL than the wheel's.
        """
        self.directory = directory
        self.binaries = binaries
        self.database_url = os.environ.get("DATABASE_URL", "")
        self.redis_url = os.environ.get("REDIS_URL", "")
        self._keeper: subprocess.Popen[str] | None = None

    def start(self) -> None:
        wanted = []
        if not self.database_url:
            wanted.append("--postgres")
        if not self.redis_url:
            wanted.append("--valkey")
        if not wanted:
            return
        if self.directory is not None:
            wanted += ["--directory", str(self.directory)]
        if self.binaries is not None:
            wanted += ["--binaries", str(self.binaries)]
        self._keeper = subprocess.Popen(
            [sys.executable, "-m", "dev.services", *wanted],
            cwd=PROJECT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._keeper.stdout is not None
        line = self._keeper.stdout.readline()
        answer = json.loads(line) if line else {"error": "the embedded servers did not start"}
        if "error" in answer:
            self.stop()
            raise RuntimeError(answer["error"])
        self.database_url = answer.get("database_url", self.database_url)
        self.redis_url = answer.get("redis_url", self.redis_url)

    def stop(self) -> None:
        if self._keeper is None:
            return
        assert self._keeper.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._keeper.stdin.close()
        self._keeper.wait(timeout=90)
        self._keeper = None

    def __enter__(self) -> "Services":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


@contextlib.contextmanager
def exclusive(path: Path, timeout: float) -> Iterator[TextIO]:
    """Hold the lock file, waiting at most `timeout` seconds; TimeoutError beyond that."""
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + timeout
    with path.open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TimeoutError(path) from None
                time.sleep(0.1)
        yield file


def keep(wanted: argparse.Namespace) -> None:
    """Start what is wanted, say where it is, wait for the end of standard input, stop it."""
    from dev.postgres import BIN, NOT_DURABLE, Postgres
    from dev.supervisor import end_leftovers
    from dev.valkey import Valkey

    with contextlib.ExitStack() as stack:
        kept = wanted.directory is not None
        base = wanted.directory
        if base is None:
            base = Path(tempfile.mkdtemp(prefix="switchboard-test-"))
            stack.callback(shutil.rmtree, base, ignore_errors=True)
        # A killed predecessor may still be stopping the servers that hold this data.
        stack.enter_context(exclusive(base / "services.lock", timeout=90))
        answer = {}
        if wanted.valkey:
            # PostgreSQL keeps a record of itself; this one needs ours to be found after a kill.
            record = base / "valkey.pid"
            end_leftovers(record)
            cache = Valkey(base / "valkey" if kept else None)
            stack.callback(record.unlink, missing_ok=True)
            stack.callback(cache.stop)
            cache.start()
            record.write_text(f"{cache.pid}\n")
            answer["redis_url"] = cache.url
        if wanted.postgres:
            database = Postgres(
                base / "postgres",
                options={} if kept else NOT_DURABLE,
                bin_path=wanted.binaries or BIN,
            )
            stack.callback(database.stop)
            database.start()
            answer["database_url"] = database.url
        print(json.dumps(answer), flush=True)
        sys.stdin.read()


def main(arguments: list[str]) -> None:
    # Only the end of the input ends this process, so that nothing is left running behind it.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    parser = argparse.ArgumentParser(prog="dev.services")
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--valkey", action="store_true")
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--binaries", type=Path)
    try:
        keep(parser.parse_args(arguments))
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main(sys.argv[1:])
