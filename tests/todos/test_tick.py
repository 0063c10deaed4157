"""When a tick does its work, what it does, and what it leaves behind."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection

from tests.factories import (
    OWNER,
    assert_invariants,
    endings,
    make_claimed,
    make_endpoint,
    make_parked,
    make_pending,
    make_waiting,
)
from tests.todos.seen import NOW, clock, rows, seconds
from todos import endpoints, reaper, sql, tasks, transitions
from todos.errors import EndpointInactive
from todos.models import Endpoint, ReaperTick, Todo

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


def last_tick_was(ago: timedelta) -> None:
    params: dict[str, Any] = {"ago": ago}
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO reaper_ticks (id, last_success_at)"
            " VALUES (1, statement_timestamp() - %(ago)s)",
            params,
        )


def test_one_tick_does_all_that_is_due() -> None:
    make_claimed(lapsed_for=NOW)
    make_waiting(age=DAY)
    make_parked(due_in=NOW)
    revoked, expired = make_waiting(), make_pending()
    Endpoint.objects.filter(pk=revoked.endpoint_id).update(revoked_at=revoked.created_at)
    Endpoint.objects.filter(pk=expired.endpoint_id).update(expires_at=expired.created_at)
    assert reaper.tick() == reaper.Tick(reaped=2, requeued=1, revoked=2, good=True)
    assert_invariants()
    assert reaper.tick() == reaper.Tick(reaped=0, requeued=0, revoked=0, good=True)


def test_the_first_tick_ever_is_due() -> None:
    make_claimed(lapsed_for=NOW)
    tick = reaper.tick_if_due()
    assert tick is not None
    assert tick.reaped == 1


@pytest.mark.parametrize("ago", [NOW, seconds(1), seconds(5)])
def test_within_15_seconds_of_a_good_tick_the_next_does_nothing(ago: timedelta) -> None:
    last_tick_was(ago)
    make_claimed(lapsed_for=NOW)
    before = rows("SELECT * FROM reaper_ticks")
    assert reaper.tick_if_due() is None
    assert Todo.objects.get().state == "claimed"
    assert rows("SELECT * FROM reaper_ticks") == before


@pytest.mark.parametrize("ago", [seconds(15.001), seconds(16), seconds(30), DAY])
def test_after_15_seconds_the_next_tick_is_due(ago: timedelta) -> None:
    last_tick_was(ago)
    make_claimed(lapsed_for=NOW)
    assert reaper.tick_if_due() is not None
    assert Todo.objects.get().state == "pending"


@pytest.mark.parametrize("ahead", [seconds(10), seconds(60), DAY])
def test_a_stamp_from_the_future_does_not_count_and_is_set_right(ahead: timedelta) -> None:
    last_tick_was(-ahead)
    assert reaper.tick_if_due() is not None
    assert ReaperTick.objects.get().last_success_at <= clock()
    assert reaper.tick_if_due() is None


@pytest.mark.parametrize(
    ("ago", "recent"), [(-0.001, False), (0, True), (15, True), (15.001, False)]
)
def test_the_15_seconds_are_exact(ago: float, recent: bool) -> None:
    last_tick_was(NOW)
    moment = "(SELECT last_success_at FROM reaper_ticks) + %(ago)s::interval"
    statement = sql.statement("tick_is_recent").replace("statement_timestamp()", f"({moment})")
    params: dict[str, Any] = {"ago": seconds(ago)}
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        assert cursor.fetchone() == (recent,)


def test_an_hour_of_queued_ticks_is_one_tick() -> None:
    assert [reaper.tick_if_due() is None for _ in range(5)] == [False, True, True, True, True]


def test_the_functions_called_by_hand_always_run() -> None:
    reaper.tick()
    make_claimed(lapsed_for=NOW)
    assert reaper.reap_expired() == 1
    make_waiting(age=DAY)
    assert reaper.reap_interrupted() == 1
    make_parked(due_in=NOW)
    assert reaper.requeue_due_retries() == 1
    make_claimed(lapsed_for=NOW)
    assert reaper.tick().reaped == 1


def test_what_is_called_by_hand_is_no_tick() -> None:
    reaper.reap_expired()
    reaper.reap_interrupted()
    reaper.requeue_due_retries()
    assert not ReaperTick.objects.exists()


def test_a_tick_is_stamped_with_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    began = clock()
    times = iter([100.0] * 2 + [107.5] * 50)
    monkeypatch.setattr(reaper, "time", SimpleNamespace(monotonic=lambda: next(times)))
    reaper.tick()
    stamp = ReaperTick.objects.get().last_success_at
    assert began - seconds(7.5) <= stamp <= clock() - seconds(7.5)


def test_there_is_one_stamp_however_many_ticks_there_were() -> None:
    reaper.tick()
    (first,) = ReaperTick.objects.values_list("last_success_at", flat=True)
    reaper.tick()
    (second,) = ReaperTick.objects.values_list("last_success_at", flat=True)
    assert second > first


def test_the_task_is_a_tick_if_one_is_due() -> None:
    make_claimed(lapsed_for=NOW)
    tasks.tick()
    make_claimed(lapsed_for=NOW)
    tasks.tick()
    assert sorted(Todo.objects.values_list("state", flat=True)) == ["claimed", "pending"]


@pytest.mark.parametrize(("due_in", "requeued"), [(seconds(20), 0), (NOW, 1), (-DAY, 1)])
def test_a_parked_retry_goes_when_it_is_due(due_in: timedelta, requeued: int) -> None:
    make_parked(due_in=due_in)
    assert reaper.requeue_due_retries() == requeued
    assert Todo.objects.filter(state="pending").count() == requeued


@pytest.mark.parametrize(("lapsed_for", "reaped"), [(seconds(-20), 0), (NOW, 1), (DAY, 1)])
def test_a_lease_goes_when_it_has_lapsed(lapsed_for: timedelta, reaped: int) -> None:
    make_claimed(lapsed_for=lapsed_for)
    assert reaper.reap_expired() == reaped


@pytest.mark.parametrize("ago", [NOW, DAY])
def test_an_expired_endpoint_is_revoked_by_the_tick_in_its_own_words(ago: timedelta) -> None:
    todo = make_waiting()
    Endpoint.objects.update(expires_at=clock() - ago)
    assert reaper.tick().revoked == 1
    endpoint = Endpoint.objects.get()
    assert endpoint.revoked_at is not None
    assert endpoint.revocation_finished_at is not None
    assert endings(todo) == [("revoked", "dead_lettered", "input-required")]
    result = Todo.objects.get().result
    assert result is not None
    assert result["error"] == "endpoint_expired"
    with pytest.raises(EndpointInactive):
        transitions.create(endpoint, queue="inbox", title="late")


def test_an_endpoint_that_has_time_left_is_left_alone() -> None:
    endpoint = make_endpoint(expires_at=clock() + seconds(60))
    todo = make_claimed(endpoint=endpoint)
    assert reaper.tick().revoked == 0
    assert Endpoint.objects.get().revoked_at is None
    transitions.complete(endpoint, todo.pk, owner=OWNER)


def test_an_error_while_endpoints_expire_does_not_stop_revocations(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    revoked, expired = make_waiting(), make_waiting()
    Endpoint.objects.filter(pk=revoked.endpoint_id).update(revoked_at=clock())
    Endpoint.objects.filter(pk=expired.endpoint_id).update(expires_at=clock())

    def fail(statement: str, params: dict[str, Any]) -> int:
        if statement == "endpoints_expire":
            raise RuntimeError("out of order")
        return sql.execute(statement, params)

    with monkeypatch.context() as patch:
        patch.setattr(endpoints, "execute", fail)
        tick = reaper.tick()
    assert (tick.revoked, tick.good) == (1, False)
    assert "sweep failed: expired endpoints" in caplog.text
    assert "RuntimeError: out of order" in caplog.text
    assert reaper.tick().revoked == 1


def test_revocations_that_a_crash_left_half_done_are_finished_as_revocations() -> None:
    """The mark was committed, and so was a part of its todos."""
    todos = [make_waiting(age=9 * DAY), make_claimed(lapsed_for=DAY), make_parked(due_in=-DAY)]
    Endpoint.objects.update(revoked_at=clock())
    done = make_pending(endpoint=make_endpoint())
    endpoints.revoke(done.endpoint)
    assert reaper.tick() == reaper.Tick(reaped=0, requeued=0, revoked=3, good=True)
    assert set(Todo.objects.values_list("state", "next_retry_at")) == {("failed", None)}
    assert [endings(todo)[-1] for todo in todos] == [
        ("revoked", "dead_lettered", "input-required"),
        ("revoked", "dead_lettered", "claimed"),
        ("failed", "retry_scheduled", "claimed"),
    ]
    assert not Endpoint.objects.filter(revocation_finished_at=None).exists()
    assert_invariants()


def test_a_revoked_endpoint_without_live_todos_is_finished_as_well() -> None:
    make_endpoint()
    Endpoint.objects.update(revoked_at=clock())
    reaper.tick()
    assert Endpoint.objects.get().revocation_finished_at is not None


def test_where_nothing_is_due_a_tick_writes_its_stamp_and_nothing_else() -> None:
    make_claimed()
    make_waiting()
    make_parked()
    stored = rows("SELECT t.*, t.xmin::text FROM todos t ORDER BY id")
    ledger = rows("SELECT a.*, a.xmin::text FROM todo_attempts a ORDER BY id")
    reaper.tick()
    assert rows("SELECT t.*, t.xmin::text FROM todos t ORDER BY id") == stored
    assert rows("SELECT a.*, a.xmin::text FROM todo_attempts a ORDER BY id") == ledger
    assert ReaperTick.objects.count() == 1
