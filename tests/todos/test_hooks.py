"""The hooks: after the outermost commit, right for each transition, and never in the way."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction

from tests.factories import (
    OWNER,
    assert_invariants,
    copies,
    make,
    make_claimed,
    make_endpoint,
    make_parked,
    make_pending,
    make_waiting,
)
from tests.todos.seen import heard, seconds, watch
from todos import endpoints, hooks, reaper, transitions
from todos.models import Todo

committing = pytest.mark.django_db(transaction=True)


@committing
def test_a_hook_is_sent_once_its_commit_is_there_for_others_to_see() -> None:
    todo = make_pending()
    seen = []

    def look(todo: Todo, **_: Any) -> None:
        seen.append((connection.in_atomic_block, Todo.objects.get(pk=todo.pk).state, todo.state))

    with _connected(look):
        transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    assert seen == [(False, "claimed", "claimed")]


@committing
def test_a_hook_waits_for_the_outermost_commit() -> None:
    todo = make_pending()
    with heard() as sent:
        with transaction.atomic():
            with transaction.atomic():
                transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
            assert sent == []
            transitions.complete(todo.endpoint, todo.pk, owner=OWNER)
            assert sent == []
        assert sent == [(todo.pk, "claimed"), (todo.pk, "done")]


@committing
def test_a_rollback_sends_nothing_and_undoes_the_transition_with_its_ledger() -> None:
    todo = make_pending()
    with watch(todo) as seen, transaction.atomic():
        transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
        transitions.create(todo.endpoint, queue="inbox", title="another")
        transaction.set_rollback(True)
    assert (seen.columns, seen.attempts, seen.hooks) == ({}, {}, [])
    assert Todo.objects.count() == 1
    assert_invariants()


@committing
def test_what_an_inner_rollback_undoes_is_not_announced() -> None:
    todo = make_pending()
    with heard() as sent, transaction.atomic():
        transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
        with transaction.atomic():
            transitions.complete(todo.endpoint, todo.pk, owner=OWNER)
            transaction.set_rollback(True)
    assert sent == [(todo.pk, "claimed")]
    assert Todo.objects.get().state == "claimed"


@committing
def test_a_sweep_within_a_callers_transaction_waits_as_well() -> None:
    todo = make_claimed(lapsed_for=seconds(1))
    with heard() as sent:
        with transaction.atomic():
            assert reaper.reap_expired() == 1
            transaction.set_rollback(True)
        assert sent == []
        with transaction.atomic():
            assert reaper.reap_expired() == 1
            assert sent == []
    assert sent == [(todo.pk, "pending"), (todo.pk, "ready: requeued")]


@contextmanager
def _connected(receiver: Any) -> Iterator[None]:
    for signal in (hooks.todo_transitioned, hooks.todo_ready):
        signal.connect(receiver)
    try:
        yield
    finally:
        for signal in (hooks.todo_transitioned, hooks.todo_ready):
            signal.disconnect(receiver)


def _raising(**_: Any) -> None:
    raise RuntimeError("the first of no use")


def _raising_as_well(**_: Any) -> None:
    raise RuntimeError("the last of no use")


@committing
def test_a_raising_receiver_neither_fails_nor_undoes_nor_silences(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR)
    endpoint = make_endpoint()
    with _connected(_raising), heard() as sent, _connected(_raising_as_well):
        todo, created = transitions.create(endpoint, queue="inbox", title="work")
    assert created
    assert Todo.objects.get() == todo
    assert sent == [(todo.pk, "created"), (todo.pk, "ready: created")]
    assert "the first of no use" in caplog.text
    assert "the last of no use" in caplog.text


@committing
def test_a_raising_receiver_does_not_stop_a_sweep() -> None:
    make_waiting(age=seconds(90_000))
    make_claimed(lapsed_for=seconds(1))
    with _connected(_raising):
        tick = reaper.tick()
    assert (tick.reaped, tick.good) == (2, True)
    assert set(Todo.objects.values_list("state", flat=True)) == {"pending"}


@committing
def test_a_receiver_may_make_transitions_itself() -> None:
    todo = make_pending()

    def finish(todo: Todo, event: str = "", **_: Any) -> None:
        if event == "claimed":
            transitions.complete(todo.endpoint, todo.pk, owner=OWNER)

    with heard() as sent, _connected(finish):
        transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    assert {event for _, event in sent} == {"claimed", "done"}
    assert Todo.objects.get().state == "done"


REQUEUED = ["pending", "ready: requeued"]
SENT: list[tuple[str, str, dict[str, Any], list[str]]] = [
    ("claim", "pending", {"owner": OWNER}, ["claimed"]),
    ("heartbeat", "claimed", {"owner": OWNER}, []),
    ("complete", "claimed", {"owner": OWNER}, ["done"]),
    ("fail", "claimed", {"owner": OWNER}, ["failed"]),
    ("release", "claimed", {"owner": OWNER}, REQUEUED),
    ("interrupt", "claimed", {"owner": OWNER, "state": "auth-required"}, ["auth-required"]),
    ("interrupt", "claimed", {"owner": OWNER, "state": "input-required"}, ["input-required"]),
    ("resume", "auth-required", {"owner": OWNER}, ["claimed"]),
    ("cancel", "input-required", {}, ["canceled"]),
    ("reject", "pending", {}, ["rejected"]),
    ("retry", "failed, dead letter", {}, REQUEUED),
]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("verb", "source", "arguments", "events"), SENT, ids=[f"{s[0]} {s[3]}" for s in SENT]
)
def test_each_transition_sends_its_event(
    verb: str, source: str, arguments: dict[str, Any], events: list[str]
) -> None:
    todo = make(source)
    with watch(todo) as seen:
        getattr(transitions, verb)(todo.endpoint, todo.pk, **arguments)
    assert seen.hooks == events


@pytest.mark.django_db
def test_the_todo_of_a_hook_is_the_row_as_committed() -> None:
    todo = make_waiting(payload={"n": 1}, age=seconds(90_000))
    got: list[Todo] = []

    def keep(todo: Todo, **_: Any) -> None:
        got.append(todo)

    with _connected(keep), heard():
        reaper.reap_interrupted()
    stored = Todo.objects.get()
    for sent in got:
        for field in Todo._meta.concrete_fields:
            assert getattr(sent, field.attname) == getattr(stored, field.attname), field
    assert [sent.pk for sent in got] == [todo.pk, todo.pk]


@pytest.mark.django_db
@pytest.mark.parametrize("sweep", ["leases", "waits", "retries", "revocation"])
def test_sweeps_send_one_event_per_todo(sweep: str) -> None:
    makers: dict[str, Callable[[], Todo]] = {
        "leases": lambda: make_claimed(lapsed_for=seconds(1)),
        "waits": lambda: make_waiting(age=seconds(90_000)),
        "retries": lambda: make_parked(due_in=-seconds(1)),
        "revocation": make_pending,
    }
    todo = makers[sweep]()
    ids = [todo.pk, *copies(todo, 3)]
    events = ["failed"] if sweep == "revocation" else REQUEUED
    with heard() as sent:
        if sweep == "revocation":
            endpoints.revoke(todo.endpoint)
        else:
            reaper.tick()
    assert sorted(sent) == sorted((todo_id, event) for todo_id in ids for event in events)


@pytest.mark.django_db
def test_stamping_an_unstamped_wait_is_no_transition() -> None:
    make_waiting()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE todos SET interrupted_at = NULL")
    with heard() as sent:
        reaper.tick()
    assert sent == []
    assert Todo.objects.get().interrupted_at is not None
