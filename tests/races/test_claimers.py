"""Claimers at the same moment: each todo goes to exactly one, and nobody goes away for nothing."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from tests.factories import (
    assert_invariants,
    endings,
    make_claimed,
    make_endpoint,
    make_parked,
    make_pending,
)
from tests.races.conftest import Paused
from tests.races.sessions import PATIENCE, Session
from todos import transitions
from todos.errors import TodoConflict
from todos.models import Endpoint
from todos.transitions import Claim

CLAIMERS = 6
QUEUES = ["inbox", "reviews", "mail", "rare"]
Sessions = Callable[[], Session]


def _at_once(sessions: Sessions, call: Callable[[int], Any], number: int = CLAIMERS) -> list[Any]:
    """What each of so many sessions got, all set off at the same moment."""
    barrier = Barrier(number)

    def run(who: int) -> Any:
        barrier.wait(timeout=PATIENCE)
        return call(who)

    started = [sessions().start(run, who) for who in range(number)]
    return [doing.result(timeout=PATIENCE) for doing in started]


def _next(endpoint: Endpoint, queues: list[str], who: int = 0) -> Claim | None:
    return transitions.claim_next(endpoint, queues, owner=f"worker {who}")


def _ids(claims: list[Claim | None]) -> Counter[str | None]:
    return Counter(None if claim is None else claim.todo.pk for claim in claims)


@pytest.mark.parametrize("queues", [QUEUES[:1], QUEUES], ids=["one queue", "four queues"])
@pytest.mark.parametrize("each", [1, 8])
def test_as_many_claims_as_todos_take_each_exactly_once(
    queues: list[str], each: int, sessions: Sessions
) -> None:
    endpoint = make_endpoint(queues=QUEUES)
    todos = [
        make_pending(endpoint=endpoint, queue=queues[n % len(queues)]).pk
        for n in range(CLAIMERS * each)
    ]
    taken = _at_once(sessions, lambda who: [_next(endpoint, queues, who) for _ in range(each)])
    assert _ids([claim for claims in taken for claim in claims]) == Counter(todos)
    assert_invariants()


@pytest.mark.parametrize("queues", [QUEUES[:1], QUEUES], ids=["one queue", "four queues"])
def test_more_claimers_than_todos_leave_the_rest_with_nothing(
    queues: list[str], sessions: Sessions
) -> None:
    endpoint = make_endpoint(queues=QUEUES)
    todos = [make_pending(endpoint=endpoint, queue=queues[-1]).pk for _ in range(CLAIMERS - 2)]
    taken = _at_once(sessions, lambda who: _next(endpoint, queues, who))
    assert _ids(taken) == Counter({**dict.fromkeys(todos, 1), None: 2})
    assert_invariants()


def test_pending_lapsed_and_due_todos_are_each_taken_exactly_once(sessions: Sessions) -> None:
    endpoint = make_endpoint(queues=QUEUES)
    minute = timedelta(minutes=1)
    todos = [
        make(endpoint=endpoint, queue=QUEUES[n], **age).pk
        for n in range(4)
        for make, age in (
            (make_pending, {}),
            (make_claimed, {"lapsed_for": minute}),
            (make_parked, {"due_in": -minute}),
        )
    ]
    taken = _at_once(sessions, lambda who: [_next(endpoint, QUEUES, who) for _ in range(2)])
    assert _ids([claim for claims in taken for claim in claims]) == Counter(todos)
    assert_invariants()


def test_claimers_of_one_given_todo_are_refused_but_one(sessions: Sessions) -> None:
    todo = make_pending()

    def claim(who: int) -> str:
        try:
            transitions.claim(todo.endpoint, todo.pk, owner=f"worker {who}")
        except TodoConflict:
            return "refused"
        return "claimed"

    assert sorted(_at_once(sessions, claim)) == ["claimed"] + ["refused"] * (CLAIMERS - 1)
    assert_invariants()


@pytest.mark.parametrize("queues", [QUEUES[:1], QUEUES], ids=["one queue", "four queues"])
def test_heads_that_others_have_locked_are_stepped_over(
    queues: list[str], sessions: Sessions, one: Session
) -> None:
    endpoint = make_endpoint(queues=QUEUES)
    heads = [make_pending(endpoint=endpoint, queue=queue) for queue in queues]
    free = [make_pending(endpoint=endpoint, queue=queues[-1]).pk for _ in range(CLAIMERS)]
    one.begin()
    for head in heads:
        one.do(transitions.cancel, endpoint, head.pk)
    assert _ids(_at_once(sessions, lambda who: _next(endpoint, queues, who))) == Counter(free)
    assert _next(endpoint, queues) is None
    one.rollback()
    assert _ids([_next(endpoint, queues) for _ in heads]) == Counter(head.pk for head in heads)


def test_a_claim_that_was_overtaken_takes_the_next_free_todo(one: Session, paused: Paused) -> None:
    endpoint = make_endpoint(queues=QUEUES)
    first, second, third = (make_pending(endpoint=endpoint).pk for _ in range(3))
    with paused("claim_next").of(one, _next, endpoint, QUEUES[:1]) as claiming:
        assert _ids([_next(endpoint, QUEUES), _next(endpoint, QUEUES)]) == Counter([first, second])
    assert _ids([claiming.result(timeout=PATIENCE)]) == Counter([third])
    assert_invariants()


def test_a_claim_that_was_overtaken_finds_what_came_meanwhile(one: Session, paused: Paused) -> None:
    """At every moment there was a free todo, though not the same: nothing is no answer."""
    endpoint = make_endpoint(queues=QUEUES)
    make_pending(endpoint=endpoint)
    with paused("claim_next").of(one, _next, endpoint, QUEUES) as claiming:
        later = make_pending(endpoint=endpoint).pk
        assert _next(endpoint, QUEUES) is not None
    assert _ids([claiming.result(timeout=PATIENCE)]) == Counter([later])


def test_a_takeover_that_was_overtaken_leaves_the_todo_alone(one: Session, paused: Paused) -> None:
    todo = make_claimed(lapsed_for=timedelta(minutes=1))
    with paused("claim_next").of(one, _next, todo.endpoint, ["inbox"]) as claiming:
        transitions.claim(todo.endpoint, todo.pk, owner="quick")
    assert claiming.result(timeout=PATIENCE) is None
    assert endings(todo) == [("lease_expired", "requeued", "claimed"), (None, None, None)]
    assert_invariants()


def test_a_lapsed_lease_with_a_broken_ledger_holds_nobody_up(one: Session) -> None:
    todo = make_claimed(lapsed_for=timedelta(minutes=1))
    free = make_pending(endpoint=todo.endpoint).pk
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM todo_attempts WHERE todo_id = %s", [todo.pk])
    assert _ids([one.do(_next, todo.endpoint, ["inbox"])]) == Counter([free])
    assert one.do(_next, todo.endpoint, ["inbox"]) is None
