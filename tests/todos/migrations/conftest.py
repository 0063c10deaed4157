"""Databases of their own for the migrations, so that the suite's database stays whole."""

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

import psycopg
import pytest
from psycopg import sql
from pytest_django import DjangoDbBlocker

from tests.todos.migrations.database import BEFORE, Database, parameters
from todos import online_migrations

_numbers = itertools.count(1)


@contextmanager
def _created() -> Iterator[str]:
    name = f"migrations_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(**parameters("postgres"), autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield name
        finally:
            drop = sql.SQL("DROP DATABASE {} WITH (FORCE)")
            server.execute(drop.format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def name(django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """The name of a database at BEFORE, for one test after the other."""
    with django_db_blocker.unblock(), _created() as name:
        with Database(name) as database:
            database.migrate(BEFORE)
        yield name


@pytest.fixture
def database(name: str, django_db_blocker: DjangoDbBlocker) -> Iterator[Database]:
    """An empty database at BEFORE."""
    with django_db_blocker.unblock(), Database(name) as database:
        database.reset()
        yield database


@pytest.fixture
def empty(django_db_blocker: DjangoDbBlocker) -> Iterator[Database]:
    """A database without any table, for one test alone."""
    with django_db_blocker.unblock(), _created() as name, Database(name) as database:
        yield database


@pytest.fixture
def migration(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Migration 0031 as a module, with waits too short to notice."""
    module = import_module("todos.migrations.0031_interrupted_at")
    monkeypatch.setattr(module, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(online_migrations, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(online_migrations, "LOCK_TIMEOUT_MS", 300)
    return module
