"""What `make test-all` adds: promtool on the rules, their tests, and the dashboard's queries."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dev import debian
from dev.services import PROJECT

PROMTOOL = Path("/usr/bin/promtool")
DEPLOY = PROJECT / "deploy"
RULES = DEPLOY / "prometheus" / "rules.yml"
POLICY = Path("/usr/sbin/policy-rc.d")


def main() -> int:
    with no_new_service():
        debian.install("prometheus", provides=PROMTOOL, left_out="the check of the alert rules")
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        # JSON is YAML, too.
        json.dump({"groups": [{"name": "dashboard", "rules": dashboard_as_rules()}]}, file)
        file.flush()
        promtool("check", "rules", str(RULES), file.name)
    promtool("check", "config", "--syntax-only", str(DEPLOY / "prometheus" / "prometheus.yml"))
    promtool("test", "rules", str(PROJECT / "tests" / "deploy" / "rules.yml"))
    return 0


@contextmanager
def no_new_service() -> Iterator[None]:
    """Debian's packages start their services unless this file says that they must not."""
    if PROMTOOL.exists() or POLICY.exists() or not POLICY.parent.is_dir():
        yield
        return
    try:
        POLICY.write_text("#!/bin/sh\nexit 101\n")
        POLICY.chmod(0o755)
    except OSError:
        # Then nothing can be installed either, which is said where it is tried.
        yield
        return
    try:
        yield
    finally:
        POLICY.unlink()


def dashboard_as_rules() -> list[dict[str, str]]:
    """Its queries as promtool can read them."""
    panels = json.loads((DEPLOY / "grafana" / "switchboard.json").read_text())["panels"]
    queries = [target["expr"] for panel in panels for target in panel.get("targets", [])]
    return [
        {"record": f"dashboard:query:{number}", "expr": query}
        for number, query in enumerate(queries)
    ]


def promtool(*arguments: str) -> None:
    done = subprocess.run([str(PROMTOOL), *arguments], check=False)
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    sys.exit(main())
