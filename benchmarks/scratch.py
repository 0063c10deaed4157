"""A scratch PostgreSQL with durability on, a Valkey, and Django set up on both by this import."""

import contextlib
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import django
import psycopg
from django.core.management import call_command
from django.db import connection

from dev.postgres import Postgres
from dev.valkey import Valkey

_directory = tempfile.TemporaryDirectory(prefix="switchboard-benchmark-")
_server = Postgres(Path(_directory.name) / "postgres")
_broker = Valkey()

os.environ |= {
    "SECRET_KEY": "benchmarks-only-" + "abcdefghij" * 5,
    "ALLOWED_HOSTS": "localhost",
    "DATABASE_URL": _server.url,
    "REDIS_URL": _broker.url,
    "DJANGO_SETTINGS_MODULE": "switchboard.settings",
}
django.setup()


@contextlib.contextmanager
def scratch_database() -> Iterator[str]:
    """Yields the URL of a migrated database in a cluster that goes afterwards."""
    try:
        _broker.start()
        _server.start()
        call_command("migrate", verbosity=0)
        yield _server.url
    finally:
        from todos.feed.publisher import publisher
        from todos.metrics.deltas import deltas

        publisher.flush()
        deltas.flush()
        deltas.interval = None
        connection.close()
        _server.stop()
        _broker.stop()
        _directory.cleanup()


def server_pids() -> list[int]:
    """PostgreSQL's, whose children are its sessions, and Valkey's."""
    return [int((_server.data / "postmaster.pid").read_text().split()[0]), _broker.pid]


def use(name: str) -> None:
    """Let Django's only connection be to that database of the same server."""
    connection.close()
    connection.settings_dict["NAME"] = name
    connection.ensure_connection()


def bare_session() -> psycopg.Connection[Any]:
    """Autocommitted and prepared, with the options of Django's connection and nothing around it."""
    params = {**connection.get_connection_params()}
    for key in ("cursor_factory", "context"):
        params.pop(key, None)
    return psycopg.connect(**params, autocommit=True)


def interleaved(
    contenders: dict[str, Callable[[], float]], rounds: int
) -> dict[str, tuple[float, float, float]]:
    """Median, least and greatest of what each contender returns, taking turns."""
    results: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            results[name].append(run())
    return {
        name: (statistics.median(values), min(values), max(values))
        for name, values in results.items()
    }


def table(title: str, rows: dict[str, tuple[float, float, float]], unit: str, base: str) -> None:
    """Print a Markdown table; the ratio is to the median of `base`."""
    print(f"\n### {title}\n")  # noqa: T201
    print(f"| | median {unit} | spread | ratio |\n| --- | ---: | ---: | ---: |")  # noqa: T201
    for name, (median, least, most) in rows.items():
        ratio = median / rows[base][0]
        print(f"| {name} | {median:.0f} | {least:.0f} … {most:.0f} | {ratio:.2f} |")  # noqa: T201
