"""Runs a few programs side by side: if one ends, all end.

Not honcho: it forks helpers without exec, and those keep every lock and pipe of a supervisor open
that was killed, so that nothing could notice its death.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from dev.services import PROJECT

STOP_SECONDS = 10


class Supervisor:
    """`record` names the running programs, for whoever finds them after this process was killed."""

    def __init__(self, record: Path) -> None:
        self.record = record
        self._programs: dict[str, subprocess.Popen[bytes]] = {}
        self._readers: list[threading.Thread] = []
        self._width = 8

    def start(
        self, name: str, command: Sequence[str], env: Mapping[str, str], cwd: Path = PROJECT
    ) -> None:
        # A session of its own: a Ctrl-C in the terminal is the supervisor's to pass on, in order.
        program = subprocess.Popen(
            command,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._programs[name] = program
        with self.record.open("a") as file:
            file.write(f"{program.pid}\n")
        reader = threading.Thread(target=self._relay, args=(name, program), daemon=True)
        reader.start()
        self._readers.append(reader)

    def ended(self) -> tuple[str, int] | None:
        """The first program found to have ended, and its exit status."""
        for name, program in self._programs.items():
            if program.poll() is not None:
                return name, program.returncode
        return None

    def stop(self) -> None:
        end_groups([program.pid for program in self._programs.values()], self._all_ended)
        for reader in self._readers:
            reader.join(timeout=2)
        self.record.unlink(missing_ok=True)

    def _all_ended(self) -> bool:
        # Each is polled, even after the first that is still there: a zombie would keep its group.
        states = [program.poll() for program in self._programs.values()]
        return None not in states

    def _relay(self, name: str, program: subprocess.Popen[bytes]) -> None:
        assert program.stdout is not None
        for line in program.stdout:
            text = line.decode(errors="replace").rstrip()
            sys.stdout.write(f"{name:<{self._width}}| {text}\n")
            sys.stdout.flush()


def end_leftovers(record: Path) -> None:
    """End the programs of a killed supervisor. A pid that is another's by now is left alone."""
    if not record.exists():
        return
    started_before = record.stat().st_mtime + 1
    pids = []
    for line in record.read_text().split():
        with contextlib.suppress(psutil.Error, ValueError):
            process = psutil.Process(int(line))
            ours = any(str(Path(sys.prefix)) in word for word in process.cmdline())
            if ours and process.create_time() <= started_before:
                pids.append(process.pid)
    end_groups(pids, lambda: not any(_alive(pid) for pid in pids))
    record.unlink(missing_ok=True)


def end_groups(pids: Sequence[int], gone: Callable[[], bool]) -> None:
    """SIGTERM to each group, and SIGKILL to what is left of them after a while."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, number)
        deadline = time.monotonic() + STOP_SECONDS
        while not gone() and time.monotonic() < deadline:
            time.sleep(0.05)
        if gone():
            return


def _alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
