"""What `make test-all` adds: the example worker in a shell, which needs Debian's curl and jq."""

import subprocess
import sys
from pathlib import Path

from dev import debian
from dev.services import PROJECT


def main() -> int:
    for name in ("curl", "jq"):
        program = Path("/usr/bin") / name
        debian.install(name, provides=program, left_out="the example worker in a shell")
    command = [sys.executable, "-m", "pytest", "tests/shell", *sys.argv[1:]]
    return subprocess.run(command, cwd=PROJECT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
