"""Hints from one process to listeners of another loop, through a real Redis."""

import logging
import time

import pytest
import redis
from django.db import transaction

from dev.valkey import Valkey
from tests.factories import (
    OWNER,
    make_claimed,
    make_endpoint,
    make_parked,
    make_pending,
    make_waiting,
)
from tests.processes.programs import wait_until
from tests.todos.feed.listening import Loop
from tests.todos.seen import seconds
from todos import endpoints, reaper, transitions
from todos.feed import publisher, subscriber
from todos.feed.message import MAX_HINTS, Hint, hint_of
from todos.feed.publisher import Publisher

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_listener_hears_of_each_transition_what_was_committed(loop: Loop) -> None:
    with loop.listening() as heard:
        todo = make_pending(max_attempts=3)
        wait_until(lambda: heard.hints, "a hint of the creation", seconds=2)
        (hint,) = heard.hints
        assert hint == Hint(
            todo=todo.pk,
            endpoint=str(todo.endpoint_id),
            queue="inbox",
            state="pending",
            transition="create",
            reason="created",
            attempt=0,
            max_attempts=3,
            parked=False,
            at=todo.updated_at.timestamp(),
        )
        transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
        wait_until(lambda: len(heard.hints) == 2, "a hint of the claim", seconds=2)
        claimed = heard.hints[1]
        assert (claimed.state, claimed.reason, claimed.attempt) == ("claimed", None, 1)
        transitions.fail(todo.endpoint, todo.pk, owner=OWNER)
        wait_until(lambda: len(heard.hints) == 3, "a hint of the failure", seconds=2)
        assert (heard.hints[2].state, heard.hints[2].parked) == ("failed", True)
    assert heard.resyncs == 0


def test_a_transition_within_a_callers_transaction_is_told_after_its_commit(loop: Loop) -> None:
    todo = make_pending()
    with loop.listening() as heard:
        with transaction.atomic():
            transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
            transaction.set_rollback(True)
        transitions.cancel(todo.endpoint, todo.pk)
        wait_until(lambda: heard.hints, "a hint", seconds=2)
    assert heard.moves() == [(todo.pk, "cancel")]


def test_the_reapers_sweeps_are_told_with_how_long_a_wait_had_lasted(loop: Loop) -> None:
    endpoint = make_endpoint()
    requeued = make_waiting(endpoint=endpoint, age=seconds(90_000), attempt=2)
    dead = make_waiting(endpoint=endpoint, age=seconds(100_000), max_attempts=1)
    lapsed = make_claimed(endpoint=endpoint, lapsed_for=seconds(1))
    due = make_parked(endpoint=endpoint, due_in=-seconds(1))
    now = make_waiting(endpoint=endpoint, age=seconds(50))
    with loop.listening(endpoint.pk) as heard:
        reaper.tick()
        reaper.reclaim_now(now.pk)
        wait_until(lambda: len(heard.hints) == 5, "five hints", seconds=3)
    by_todo = {hint.todo: hint for hint in heard.hints}
    told = [
        (h.transition, h.state, h.reason, h.attempt, h.waited and int(h.waited) // 10)
        for h in (by_todo[todo.pk] for todo in (requeued, dead, lapsed, due, now))
    ]
    assert told == [
        ("reclaim lapsed wait", "pending", "requeued", 2, 9_000),
        ("reclaim lapsed wait", "failed", None, 1, 10_000),
        ("reap lapsed lease", "pending", "requeued", 1, None),
        ("due retry", "pending", "requeued", 1, None),
        ("reclaim now", "pending", "requeued", 1, 5),
    ]


def test_a_listener_hears_nothing_of_other_endpoints_and_other_queues(loop: Loop) -> None:
    mine, foreign = make_endpoint(), make_endpoint()
    with (
        loop.listening(mine.pk) as all_of_mine,
        loop.listening(mine.pk, ["reviews"]) as reviews_of_mine,
        loop.listening(queues=["reviews"]) as all_reviews,
        loop.listening() as everything,
    ):
        todos = [
            make_pending(endpoint=endpoint, queue=queue).pk
            for endpoint in (foreign, mine)
            for queue in ("inbox", "reviews")
        ]
        wait_until(lambda: len(everything.hints) == 4, "all hints", seconds=2)
        wait_until(lambda: len(reviews_of_mine.hints) == 1, "the last hint", seconds=2)
    assert [hint.todo for hint in all_of_mine.hints] == todos[2:]
    assert [hint.todo for hint in reviews_of_mine.hints] == todos[3:]
    assert [hint.todo for hint in all_reviews.hints] == todos[1::2]


def test_a_revocation_ends_the_listeners_of_its_endpoint_alone(loop: Loop) -> None:
    mine, other = make_endpoint(), make_endpoint()
    todo = make_pending(endpoint=mine)
    with loop.listening(mine.pk) as heard, loop.listening(other.pk) as heard_of_other:
        endpoints.revoke(mine)
        wait_until(lambda: heard.ended, "the end", seconds=2)
        wait_until(lambda: heard.hints, "the dead letter", seconds=2)
        make_pending(endpoint=other)
        wait_until(lambda: heard_of_other.hints, "a hint", seconds=2)
    assert heard.moves() == [(todo.pk, "revoke endpoint")]
    assert not heard_of_other.ended


def test_a_mass_of_transitions_is_a_few_bounded_messages(loop: Loop) -> None:
    todo = make_pending()
    with loop.listening(todo.endpoint_id) as heard, loop.listening(make_endpoint().pk) as other:
        began = time.monotonic()
        with transaction.atomic():
            for number in range(20_000):
                todo.pk = f"td_{number}"
                publisher.publisher.add([todo], "reclaim lapsed wait", {todo.pk: 90_000.0})
        took = time.monotonic() - began
        wait_until(lambda: heard.resyncs, "the word to look again", seconds=3)
    ticks = took / publisher.TICK_SECONDS + 2
    assert len(heard.batches) <= ticks
    assert len(heard.hints) <= MAX_HINTS * ticks
    assert {batch.places for batch in heard.batches if batch.resync} == {
        frozenset({(str(todo.endpoint_id), "inbox")})
    }
    assert not other.batches


def test_a_slow_listener_is_told_to_look_again_and_holds_no_more_than_its_bound(
    loop: Loop,
) -> None:
    todo = make_pending()
    slow = loop.call(lambda: subscriber.Listener(str(todo.endpoint_id), None))
    with loop.listening(todo.endpoint_id) as quick:
        listeners = loop.call(lambda: subscriber._subscribers[loop.loop]._listeners)
        loop.call(lambda: listeners.add(slow))
        for number in range(subscriber.MAX_WAITING + 1):
            todo.pk = f"td_{number}"
            publisher.publisher.add([todo], "create")
            if number % 400 == 399:
                publisher.publisher.flush()
        wait_until(lambda: len(quick.hints) == subscriber.MAX_WAITING + 1, "all hints", seconds=5)
    batch = loop.start(slow.__anext__()).result(timeout=5)
    assert (batch.hints, batch.resync) == ((), True)
    assert batch.places == {(str(todo.endpoint_id), "inbox")}


def test_a_restart_of_redis_is_told_to_every_listener_and_logged_once(
    redis_server: Valkey, loop: Loop, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "todos.feed")
    endpoint = make_endpoint()
    with loop.listening(endpoint.pk) as heard, loop.listening() as board:
        redis_server.halt()
        began = time.monotonic()
        for _ in range(50):
            make_pending(endpoint=endpoint)
        assert time.monotonic() - began < 2, "transitions waited for Redis"
        wait_until(lambda: "hints are lost" in caplog.text, "a word of the publisher", seconds=5)
        wait_until(lambda: "no hints arrive" in caplog.text, "the subscriber's", seconds=5)
        redis_server.start()
        wait_until(lambda: heard.resyncs and board.resyncs, "the resync", seconds=2)
        wait_until(lambda: caplog.text.count("feed: Redis is back") == 2, "both back", seconds=3)
        todo = make_pending(endpoint=endpoint)
        wait_until(lambda: (todo.pk, "create") in heard.moves(), "hints go on", seconds=2)
    assert caplog.text.count("hints are lost") == 1
    assert caplog.text.count("no hints arrive") == 1


def test_who_listens_while_redis_is_away_does_not_wait_and_is_told_when_it_is_back(
    redis_server: Valkey, loop: Loop
) -> None:
    redis_server.halt()
    with loop.listening() as first, loop.listening() as heard:
        assert not heard.batches
        redis_server.start()
        wait_until(lambda: heard.resyncs == 1 and first.resyncs == 1, "the resync", seconds=2)
        todo = make_pending()
        wait_until(lambda: heard.hints, "hints go on", seconds=2)
    assert heard.moves() == [(todo.pk, "create")]


def test_who_alone_could_not_reach_redis_has_everybody_look_again(
    redis_server: Valkey, loop: Loop
) -> None:
    todo = make_pending()
    cut_off = Publisher()
    cut_off._client = redis.Redis(unix_socket_path="/nowhere")
    with loop.listening(todo.endpoint_id) as heard:
        cut_off._message.add(hint_of(todo, "create", None))
        cut_off.flush()
        assert not heard.batches
        cut_off._client = None
        cut_off.flush()
        wait_until(lambda: heard.resyncs == 1, "the resync", seconds=2)
    assert not heard.hints


def test_what_is_kept_for_a_redis_that_is_away_is_bounded(redis_server: Valkey) -> None:
    todo = make_pending()
    redis_server.halt()
    away = Publisher()
    for number in range(5_000):
        todo.pk = f"td_{number}"
        away.add([todo], "create")
    assert len(away._message.hints) <= MAX_HINTS


def test_the_connection_ends_a_while_after_the_last_listener_and_comes_again(
    redis_server: Valkey, loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriber, "LINGER_SECONDS", 0.0)
    monkeypatch.setattr(subscriber, "SILENCE_SECONDS", 0.1)
    with loop.listening():
        pass
    task = loop.call(lambda: subscriber._subscribers[loop.loop]._task)
    wait_until(task.done, "the end of the task", seconds=5)
    with loop.listening() as heard:
        todo = make_pending()
        wait_until(lambda: heard.hints, "a hint", seconds=2)
    assert heard.moves() == [(todo.pk, "create")]
