"""What `make test-all` adds: the core suite on Debian's PostgreSQL 15, the oldest one supported."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dev import debian
from dev.services import PROJECT, Services

PACKAGE = "postgresql-15"
BINARIES = Path("/usr/lib/postgresql/15/bin")
CREATE_CLUSTER = Path("/etc/postgresql-common/createcluster.d/switchboard-tests.conf")

# tests/platform is about the embedded servers and the commands around them.
SUITE = ["tests", "--ignore=tests/platform"]


def install() -> None:
    if not BINARIES.joinpath("postgres").exists():
        with no_new_cluster():
            debian.install(PACKAGE, provides=BINARIES / "postgres", left_out="the core suite on it")


@contextmanager
def no_new_cluster() -> Iterator[None]:
    """The package makes and starts a cluster of its own unless it is told not to."""
    if os.geteuid() != 0:
        yield
        return
    CREATE_CLUSTER.parent.mkdir(parents=True, exist_ok=True)
    CREATE_CLUSTER.write_text("create_main_cluster = false\n")
    try:
        yield
    finally:
        CREATE_CLUSTER.unlink()


def main() -> int:
    install()
    with Services(binaries=BINARIES) as services:
        env = os.environ | {"DATABASE_URL": services.database_url, "REDIS_URL": services.redis_url}
        command = [sys.executable, "-m", "pytest", *SUITE, *sys.argv[1:]]
        return subprocess.run(command, env=env, cwd=PROJECT, check=False).returncode


if __name__ == "__main__":
    # A DATABASE_URL from outside is for the other tests: these are about this one version.
    os.environ.pop("DATABASE_URL", None)
    sys.exit(main())
