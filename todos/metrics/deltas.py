"""Counts that each process gathers and adds to the database every few seconds.

They are for rates: a process that is killed loses what it had not added yet.
"""

import atexit
import logging
import os
import threading
from collections import Counter
from collections.abc import Iterable
from typing import Any

from django.db import connection

from todos.errors import first_line
from todos.models import Todo
from todos.sql import execute

logger = logging.getLogger(__name__)

FLUSH_SECONDS = 5.0

Key = tuple[str, str, str]
"""Name, queue and cause, as in `todo_counters`."""

_COUNTED = {
    "create": ("created", ""),
    "claim": ("claimed", ""),
    "complete": ("completed", "complete"),
    "fail": ("completed", "fail"),
}


class Deltas:
    """What this process has counted and not yet added; a thread adds it every `interval` s.

    Without an interval nothing is added but by `flush`.
    """

    def __init__(self, interval: float | None = FLUSH_SECONDS) -> None:
        self.interval = interval
        self._forget()

    def _forget(self) -> None:
        # Also in a forked child: what its parent counted is its parent's to add.
        self._lock = threading.Lock()
        self._counts: Counter[Key] = Counter()
        self._thread: threading.Thread | None = None

    def add(self, key: Key) -> None:
        with self._lock:
            self._counts[key] += 1
            if self._thread is None and self.interval is not None:
                self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)
                self._thread.start()

    def flush(self) -> None:
        """Add to the database what was counted; keep it if that fails."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        if not counts:
            return
        names, queues, causes = zip(*counts, strict=True)
        try:
            execute(
                "counters_add",
                {
                    "names": list(names),
                    "queues": list(queues),
                    "causes": list(causes),
                    "values": list(counts.values()),
                },
            )
        except Exception:
            with self._lock:
                self._counts.update(counts)
            raise

    def _run(self) -> None:
        tick = threading.Event()
        while not tick.wait(self.interval):
            try:
                self.flush()
            except Exception as error:
                logger.warning("counts are kept for later: %s", first_line(error))
            finally:
                connection.close()


deltas = Deltas()
os.register_at_fork(after_in_child=deltas._forget)


@atexit.register
def flush_at_exit(**_: Any) -> None:
    """Add the last counts of a process that ends in peace."""
    if deltas.interval is None:
        return
    try:
        deltas.flush()
    except Exception as error:
        logger.warning("the last counts are lost: %s", first_line(error))


def count(sender: object, *, todos: Iterable[Todo], transition: str, **_: Any) -> None:
    """Receiver of `hooks.todos_transitioned`."""
    if counted := _COUNTED.get(transition):
        name, cause = counted
        for todo in todos:
            deltas.add((name, todo.queue, cause))
