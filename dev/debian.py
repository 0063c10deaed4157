"""System packages for the tests that need them: installed as root on Debian, else asked for."""

import os
import shutil
import subprocess
import sys
from pathlib import Path


def install(package: str, *, provides: Path, left_out: str) -> None:
    """Make sure that a package's program is there, or end: silence would look like success."""
    if provides.exists():
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        sys.exit(
            f"{package} is missing, so {left_out} was left out."
            f" As root on Debian 12: apt-get install {package}"
        )
    print(f"Installing {package} …", flush=True)
    apt = ["apt-get", "-q", "-y", "-o", "Dpkg::Use-Pty=0"]
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "--no-install-recommends", package]):
        done = subprocess.run([*apt, *arguments], env=env, check=False)
        if done.returncode:
            sys.exit(f"{package} could not be installed, so {left_out} was left out.")
