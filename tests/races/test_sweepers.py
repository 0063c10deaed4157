"""Two reapers, two ticks: each row is moved once, and neither waits for the other."""

import logging
from collections import Counter
from datetime import timedelta
from threading import Barrier

import pytest

from tests.factories import (
    assert_invariants,
    copies,
    endings,
    make_claimed,
    make_endpoint,
    make_parked,
    make_pending,
    make_waiting,
)
from tests.races.sessions import PATIENCE, Session, wait_until_blocked
from todos import endpoints, reaper
from todos.models import Attempt, Endpoint, ReaperTick, Todo

MINUTE = timedelta(minutes=1)


def test_two_reapers_at_once_reap_each_lapsed_row_once(one: Session, other: Session) -> None:
    todo = make_claimed(lapsed_for=MINUTE)
    wait = make_waiting(age=timedelta(days=2), endpoint=todo.endpoint)
    everything = [todo.pk, wait.pk, *copies(todo, 1_200), *copies(wait, 600)]
    barrier = Barrier(2)

    def reap() -> int:
        barrier.wait(timeout=PATIENCE)
        return reaper.reap_expired()

    counts = [session.start(reap) for session in (one, other)]
    assert sum(count.result(timeout=PATIENCE) for count in counts) == len(everything)
    assert Counter(Attempt.objects.values_list("todo_id", "outcome")) == Counter(
        (todo_id, "reaped") for todo_id in everything
    )
    assert set(Todo.objects.values_list("state", flat=True)) == {"pending"}
    assert_invariants()


def test_a_reaper_does_not_wait_for_the_todos_of_another(one: Session) -> None:
    """Only where both count the same, in one queue, one waits until the other has committed."""
    first = make_claimed(lapsed_for=2 * MINUTE, queue="inbox")
    one.begin()
    assert one.do(reaper.reap_expired) == 1
    second = make_claimed(lapsed_for=MINUTE, queue="reviews")
    assert reaper.reap_expired() == 1
    one.commit()
    assert reaper.reap_expired() == 0
    assert [len(endings(todo)) for todo in (first, second)] == [1, 1]
    assert_invariants()


def test_two_ticks_at_once_do_everything_once(
    one: Session, other: Session, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint = make_endpoint()
    lapsed = make_claimed(lapsed_for=MINUTE, endpoint=endpoint)
    wait = make_waiting(age=timedelta(days=2), endpoint=endpoint)
    due = make_parked(due_in=-MINUTE, endpoint=endpoint)
    copies(due, 300)
    copies(lapsed, 300)
    ended = make_pending()
    copies(ended, 700)
    Endpoint.objects.filter(pk=ended.endpoint_id).update(expires_at=ended.created_at)
    barrier = Barrier(2)

    def tick() -> reaper.Tick:
        barrier.wait(timeout=PATIENCE)
        return reaper.tick()

    with caplog.at_level(logging.INFO):
        started = [session.start(tick) for session in (one, other)]
        ticks = [tick.result(timeout=PATIENCE) for tick in started]
    assert [tick.good for tick in ticks] == [True, True]
    assert sum(tick.reaped for tick in ticks) == 302
    assert sum(tick.requeued for tick in ticks) == 301
    assert sum(tick.revoked for tick in ticks) == 701
    assert not [record for record in caplog.records if record.levelno > logging.INFO]
    assert [len(endings(todo)) for todo in (lapsed, wait, due)] == [1, 1, 1]
    assert Endpoint.objects.get(pk=ended.endpoint_id).revocation_finished_at
    assert ReaperTick.objects.count() == 1
    assert_invariants()


def test_a_tick_waits_for_no_row_of_a_revocation(one: Session) -> None:
    held, free = (make_claimed(endpoint=endpoint) for endpoint in [make_endpoint()] * 2)
    endpoint = held.endpoint
    Endpoint.objects.filter(pk=endpoint.pk).update(expires_at=held.created_at)
    one.begin()
    one.do(Todo.objects.select_for_update().get, pk=held.pk)
    tick = reaper.tick()
    assert (tick.revoked, tick.good) == (1, True)
    endpoint.refresh_from_db()
    assert endpoint.revocation_finished_at is None, "its locked todo is still live"
    one.commit()
    assert reaper.tick().revoked == 1
    endpoint.refresh_from_db()
    assert endpoint.revocation_finished_at
    assert {Todo.objects.get(pk=todo.pk).condition for todo in (held, free)} == {
        "failed, dead letter"
    }
    assert_invariants()


def test_two_revocations_of_one_endpoint_at_once_end_each_todo_once(
    one: Session, other: Session
) -> None:
    todo = make_claimed()
    everything = {todo.pk, *copies(todo, 1_100)}
    barrier = Barrier(2)

    def revoke() -> Endpoint:
        barrier.wait(timeout=PATIENCE)
        return endpoints.revoke(todo.endpoint)

    for revoking in [session.start(revoke) for session in (one, other)]:
        assert revoking.result(timeout=PATIENCE).revocation_finished_at
    assert Counter(Attempt.objects.values_list("todo_id", "outcome")) == Counter(
        (todo_id, "revoked") for todo_id in everything
    )
    assert_invariants()


def test_a_revocation_waits_for_a_reaper_and_ends_what_that_put_back(
    one: Session, other: Session
) -> None:
    todo = make_claimed(lapsed_for=MINUTE)
    one.begin()
    assert one.do(reaper.reap_expired) == 1
    revoking = other.start(endpoints.revoke, todo.endpoint)
    wait_until_blocked(other, by=one, doing=revoking)
    one.commit()
    assert revoking.result(timeout=PATIENCE).revocation_finished_at
    assert endings(todo) == [("reaped", "requeued", "claimed")]
    assert Todo.objects.get(pk=todo.pk).condition == "failed, dead letter"
    assert_invariants()
