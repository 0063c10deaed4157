"""Sessions that do things at the same moment, each in a thread and on a connection of its own.

No test sleeps. Who waits for whom is asked of the database; a statement is stopped between its
snapshot and its first look at a row by an advisory lock that is put into its text.
"""

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
from django.db import connection, connections, transaction

from todos import sql

T = TypeVar("T")

PATIENCE = 40
"""Seconds after which a test gives up on what should have happened."""


class Session:
    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._transaction: transaction.Atomic | None = None
        self.pid: int = self.do(_connect)

    def start(self, call: Callable[..., T], *args: Any, **kwargs: Any) -> "Future[T]":
        """Let the session do something, and do not wait for it."""
        return self._thread.submit(call, *args, **kwargs)

    def do(self, call: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        return self.start(call, *args, **kwargs).result(timeout=PATIENCE)

    def begin(self) -> None:
        """What the session does from now on is uncommitted, until `commit`."""
        self._transaction = transaction.atomic()
        self.do(self._transaction.__enter__)

    def commit(self) -> None:
        assert self._transaction is not None
        leave, self._transaction = self._transaction.__exit__, None
        self.do(leave, None, None, None)

    def rollback(self) -> None:
        assert self._transaction is not None
        leave, self._transaction = self._transaction.__exit__, None
        self.do(transaction.set_rollback, True)
        self.do(leave, None, None, None)

    def close(self) -> None:
        # Whatever a failed test left waiting or uncommitted ends with the server's end of it.
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [self.pid])
        self.start(connections.close_all)
        self._thread.shutdown()


def _connect() -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = '{PATIENCE}s'")
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    return int(pid)


def wait_until_blocked(waiting: Session, by: Session, doing: "Future[Any]") -> None:
    """Return once `waiting` waits for a lock that `by` holds; fail if it gets through."""
    deadline = time.monotonic() + PATIENCE
    with connection.cursor() as cursor:
        while time.monotonic() < deadline:
            cursor.execute("SELECT %s = ANY (pg_blocking_pids(%s))", [by.pid, waiting.pid])
            if cursor.fetchone() == (True,):
                return
            assert not doing.done(), f"nothing was waited for: {doing!r}"
    raise AssertionError("nobody waits")


_keys = itertools.count(46_000)


class Pause:
    """Holds a statement after it took its snapshot, and before it looked at any row."""

    def __init__(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self._key = next(_keys)
        self._original = sql.statement
        self._name = name
        before, where, after = sql.statement(name).partition(" WHERE ")
        self._text = f"{before}{where}{self._wait} AND {after}"
        self._monkeypatch = monkeypatch

    @property
    def _wait(self) -> str:
        return f"(SELECT pg_advisory_xact_lock_shared({self._key})) IS NOT NULL"

    @contextmanager
    def of(
        self, session: Session, call: Callable[..., T], *args: Any, **kwargs: Any
    ) -> Iterator["Future[T]"]:
        """Inside, the session stands still in the middle of that call; afterwards it goes on."""
        texts = {self._name: self._text}
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [self._key])
        self._monkeypatch.setattr(
            sql, "statement", lambda name: texts.get(name) or self._original(name)
        )
        doing = session.start(call, *args, **kwargs)
        try:
            self._wait_until_there(session, doing)
            self._monkeypatch.setattr(sql, "statement", self._original)
            yield doing
        finally:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [self._key])

    def _wait_until_there(self, session: Session, doing: "Future[Any]") -> None:
        deadline = time.monotonic() + PATIENCE
        with connection.cursor() as cursor:
            while time.monotonic() < deadline:
                cursor.execute(
                    "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = %s"
                    " AND pid = %s AND NOT granted",
                    [self._key, session.pid],
                )
                if cursor.fetchone():
                    return
                assert not doing.done(), f"it did not come to its statement: {doing!r}"
        raise AssertionError("it did not come to its statement")
