"""What `make test-all` adds: the pages in Debian's Chromium, with real processes behind them.

axe-core, which looks for what keeps people from reading and using a page, comes from npm.
"""

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from dev import debian
from dev.services import PROJECT

CHROMIUM = Path("/usr/bin/chromium")
NPM = Path("/usr/bin/npm")
LEFT_OUT = "the test of the pages in a browser"

AXE_VERSION = "4.14.1"
AXE_SHA512 = (
    "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
)
HERE = PROJECT / ".browser"
AXE = HERE / f"axe-core-{AXE_VERSION}.js"


def install_axe() -> None:
    if AXE.exists():
        return
    if shutil.which("npm") is None:
        debian.install("npm", provides=NPM, left_out=LEFT_OUT)
    HERE.mkdir(exist_ok=True)
    command = ["npm", "pack", "--silent", f"axe-core@{AXE_VERSION}"]
    if subprocess.run(command, cwd=HERE, stdout=subprocess.DEVNULL, check=False).returncode:
        sys.exit(f"axe-core {AXE_VERSION} could not be fetched, so {LEFT_OUT} was left out.")
    archive = HERE / f"axe-core-{AXE_VERSION}.tgz"
    if base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode() != AXE_SHA512:
        sys.exit(f"{archive} is not the axe-core {AXE_VERSION} that is pinned here.")
    with tarfile.open(archive) as package:
        script = package.extractfile("package/axe.min.js")
        assert script is not None
        AXE.write_bytes(script.read())
    archive.unlink()


def main() -> int:
    debian.install("chromium", provides=CHROMIUM, left_out=LEFT_OUT)
    install_axe()
    command = [sys.executable, "-m", "pytest", "tests/browser", *sys.argv[1:]]
    return subprocess.run(command, cwd=PROJECT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
