"""Removes what the other verbs made. Runs without the virtual environment, which goes too."""

import shutil
import sys

from dev.services import PROJECT, exclusive

MADE = (
    ".switchboard",
    ".browser",
    "staticfiles",
    ".hypothesis",
    ".import_linter_cache",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".venv",
)


def main() -> None:
    try:
        with exclusive(PROJECT / ".switchboard" / "run.lock", timeout=0):
            for name in MADE:
                if (PROJECT / name).exists():
                    print(f"removing {name}")
                    shutil.rmtree(PROJECT / name)
    except TimeoutError:
        sys.exit("Switchboard runs in this folder: press Ctrl-C in its terminal first.")


if __name__ == "__main__":
    main()
