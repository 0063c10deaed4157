"""Each process starts on good settings, and says one line on bad ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dev.services import PROJECT

PRODUCTION = {
    "SECRET_KEY": "k3y-" + "0123456789abcdef" * 4,
    "DATABASE_URL": "postgresql://switchboard:secret@db.invalid/switchboard",
    "REDIS_URL": "redis://redis.invalid/0",
    "ALLOWED_HOSTS": "switchboard.example.org",
    "BEHIND_TLS_PROXY": "1",
}
MANAGE = ["manage.py", "check"]
WORKER = ["-m", "celery", "-A", "switchboard", "worker"]
BEAT = ["-m", "celery", "-A", "switchboard", "beat"]
WEB = ["-m", "uvicorn", "switchboard.asgi:application"]


def run(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if key not in PRODUCTION}
    return subprocess.run(
        [sys.executable, *command],
        cwd=PROJECT,
        env=clean | env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("command", [MANAGE, WORKER, BEAT, WEB], ids=lambda c: c[-1])
@pytest.mark.parametrize("name", ["SECRET_KEY", "REDIS_URL"])
def test_a_missing_variable_is_one_line_of_every_process(command: list[str], name: str) -> None:
    done = run(command, {key: value for key, value in PRODUCTION.items() if key != name})
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{name} is missing. Accepted: ")


@pytest.mark.parametrize(
    "name",
    [
        "SECRET_KEY",
        "DATABASE_URL",
        "REDIS_URL",
        "ALLOWED_HOSTS",
        "LOG_LEVEL",
        "LOG_FORMAT",
        "DEBUG",
    ],
)
def test_a_malformed_variable_is_one_line(name: str) -> None:
    done = run(MANAGE, PRODUCTION | {name: "http://wrong wrong"})
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{name} is malformed. Accepted: ")


def check_deploy(static: Path, *, collect: bool) -> subprocess.CompletedProcess[str]:
    # Static files go to a place of this test's own: another run would see half of them.
    script = f"""
import django
from django.conf import settings
from django.core.management import call_command
settings.STATIC_ROOT = __import__("pathlib").Path({str(static)!r})
django.setup()
if {collect}:
    call_command("collectstatic", interactive=False, verbosity=0)
call_command("check", deploy=True, fail_level="WARNING")
"""
    env = PRODUCTION | {"DJANGO_SETTINGS_MODULE": "switchboard.settings"}
    return run(["-c", script], env)


def test_production_settings_pass_the_deployment_check(tmp_path: Path) -> None:
    done = check_deploy(tmp_path, collect=True)
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


def test_the_deployment_check_misses_static_files(tmp_path: Path) -> None:
    done = check_deploy(tmp_path, collect=False)
    assert done.returncode == 1
    assert "switchboard.W001" in done.stderr


def test_the_interval_of_the_tick_is_no_variable() -> None:
    script = "from switchboard.celery import app; print(app.conf.beat_schedule['tick']['schedule'])"
    env = PRODUCTION | {"TESTS_BEAT_EVERY_SECONDS": "1", "CELERY_BEAT_SCHEDULE": "1"}
    assert run(["-c", script], env).stdout.strip() == "0:00:30"
