"""manage.py, with the environment of the `make run` that runs in this folder."""

import json
import os
import sys

from dev.services import PROJECT


def main() -> None:
    try:
        env = json.loads((PROJECT / ".switchboard" / "env.json").read_text())
    except FileNotFoundError:
        sys.exit("Nothing runs in this folder: start `make run` in another terminal first.")
    manage = str(PROJECT / "manage.py")
    os.execve(sys.executable, [sys.executable, manage, *sys.argv[1:]], os.environ | env)


if __name__ == "__main__":
    main()
