"""Everything at once, at random: no deadlock, no error but refusals, and sound rows at the end."""

import logging
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from settings_app.models import Setting
from tests.factories import OWNER, assert_invariants, make_endpoint
from tests.races.sessions import PATIENCE, Session
from todos import doctor, endpoints, reaper, transitions
from todos.errors import SwitchboardError
from todos.models import Attempt, Endpoint, Todo

WORKERS = 6
STEPS = 160
QUEUES = ["inbox", "reviews", "mail"]
OWNERS = [OWNER, "bob"]
WAITS = ["input-required", "auth-required"]

_OVERDUE = """
UPDATE todos
SET lease_expires_at = lease_expires_at - interval '2 days',
    interrupted_at = interrupted_at - interval '2 days',
    next_retry_at = next_retry_at - interval '2 days'
WHERE id = %s
"""


class Worker:
    """Does one thing after another with one of a few todos, so that they all meet."""

    def __init__(self, seed: int, desks: list[Endpoint]) -> None:
        self.dice = random.Random(seed)
        self.desks = desks
        self.did: Counter[str] = Counter()

    def run(self) -> Counter[str]:
        names = list(self.actions)
        weights = [self.actions[name][0] for name in names]
        for name in self.dice.choices(names, weights, k=STEPS):
            try:
                if self.actions[name][1](self):
                    self.did[name] += 1
            except SwitchboardError:
                pass
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_force_next_flush()")
        return self.did

    @property
    def desk(self) -> Endpoint:
        return self.dice.choice(self.desks)

    def todo(self, *states: str) -> Todo:
        """One of the few newest that are, or were a moment ago, in these states."""
        todos = Todo.objects.filter(state__in=states).order_by("-created_at")[:5]
        return self.dice.choice(list(todos) or list(Todo.objects.all()[:5]))

    def create(self) -> Any:
        key = self.dice.choice([None, "one", "two"])
        attempts = self.dice.choice([1, 2, 9])
        queue = self.dice.choice(QUEUES)
        return transitions.create(
            self.desk, queue=queue, title="x", idempotency_key=key, max_attempts=attempts
        )

    def claim_next(self) -> Any:
        return transitions.claim_next(self.desk, None, owner=self.dice.choice(OWNERS))

    def claim(self) -> Any:
        todo = self.todo("pending", "claimed", "failed")
        return transitions.claim(todo.endpoint, todo.pk, owner=self.dice.choice(OWNERS))

    def interrupt(self) -> Any:
        todo = self.todo("claimed")
        state = self.dice.choice(WAITS)
        return transitions.interrupt(todo.endpoint, todo.pk, owner=todo.owner or "", state=state)

    def hold(self, name: str, *states: str) -> Any:
        todo = self.todo(*states)
        return getattr(transitions, name)(todo.endpoint, todo.pk, owner=todo.owner or OWNER)

    def client(self, name: str, *states: str) -> Any:
        todo = self.todo(*states)
        return getattr(transitions, name)(self.dice.choice([None, todo.endpoint]), todo.pk)

    def overdue(self) -> bool:
        with connection.cursor() as cursor:
            cursor.execute(_OVERDUE, [self.todo("claimed", *WAITS, "failed").pk])
        return True

    def tick(self) -> Any:
        tick = reaper.tick()
        assert tick.good
        return tick

    def revoke(self) -> Any:
        """Another desk takes the place of the one that goes."""
        place = self.dice.randrange(len(self.desks))
        desk, self.desks[place] = self.desks[place], make_endpoint(queues=QUEUES)
        return endpoints.revoke(desk)

    actions: dict[str, tuple[int, Callable[["Worker"], Any]]] = {
        "create": (14, create),
        "claim_next": (10, claim_next),
        "claim": (8, claim),
        "heartbeat": (5, lambda self: self.hold("heartbeat", "claimed")),
        "complete": (4, lambda self: self.hold("complete", "claimed")),
        "fail": (8, lambda self: self.hold("fail", "claimed")),
        "release": (5, lambda self: self.hold("release", "claimed")),
        "interrupt": (10, interrupt),
        "resume": (5, lambda self: self.hold("resume", *WAITS)),
        "cancel": (3, lambda self: self.client("cancel", *WAITS, "pending", "claimed")),
        "reject": (2, lambda self: self.client("reject", "pending")),
        "retry": (5, lambda self: self.client("retry", "failed")),
        "reclaim_now": (2, lambda self: reaper.reclaim_now(self.todo(*WAITS).pk)),
        "overdue": (10, overdue),
        "reap": (5, lambda self: reaper.reap_expired()),
        "requeue": (4, lambda self: reaper.requeue_due_retries()),
        "tick": (2, tick),
        "revoke": (1, revoke),
    }


def _deadlocks() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        (number,) = cursor.fetchone()
    return int(number)


def test_a_random_mix_of_everything_ends_in_sound_rows(
    sessions: Callable[[], Session], caplog: pytest.LogCaptureFixture
) -> None:
    Setting.objects.create(key="attempt_history_max_per_todo", value="5")
    desks = [make_endpoint(queues=QUEUES) for _ in range(3)]
    for desk in desks:
        transitions.create(desk, queue="inbox", title="the first")
    deadlocks = _deadlocks()
    with caplog.at_level(logging.WARNING):
        workers = [sessions().start(Worker(seed, desks).run) for seed in range(WORKERS)]
        did = sum((worker.result(timeout=PATIENCE) for worker in workers), Counter[str]())
    assert set(did) >= set(Worker.actions) - {"reap", "requeue", "reclaim_now"}, did
    ends = {"completed", "failed", "released", "canceled", "revoked", "reaped"}
    assert ends <= set(Attempt.objects.values_list("outcome", flat=True))
    assert not caplog.records
    assert _deadlocks() == deadlocks
    assert_invariants()
    assert not list(doctor.examine())
