"""Claims that wait: woken by what they wait for, one for each todo, and never forgotten."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest
from django.db import connection

from tests.factories import (
    copies,
    make_claimed,
    make_endpoint,
    make_parked,
    make_pending,
    make_waiting,
)
from tests.processes.programs import wait_until
from tests.todos.feed.listening import Loop
from tests.todos.seen import seconds
from todos import endpoints, reaper, threads, transitions
from todos.api import parking
from todos.errors import EndpointInactive
from todos.models import Endpoint

pytestmark = pytest.mark.django_db(transaction=True)

LONG = 25.0


class Waiting:
    """Claims that wait in a web process, and how often they tried."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.tries = 0
        self.claims: list[Future[Any]] = []
        self.lot: parking.Lot = loop.call(parking.lot)

    def park(
        self, endpoint: Endpoint, queues: list[str], number: int = 1, wait: float = LONG
    ) -> "list[Future[Any]]":
        """So many more, which have tried in vain."""
        places = frozenset((str(endpoint.pk), queue) for queue in queues)

        def claim() -> parking.Try:
            self.tries += 1
            owner = f"agent:{endpoint.pk}"
            return parking.Try(transitions.claim_next(endpoint, queues, owner=owner), places)

        before = self.parked()
        started = [
            self.loop.start(self.lot.claim(partial(threads.run, claim), wait))
            for _ in range(number)
        ]
        self.claims += started
        wait_until(lambda: self.parked() == before + number, "all of them parked")
        return started

    def parked(self) -> int:
        return len(
            self.loop.call(lambda: {w for places in self.lot._parked.values() for w in places})
        )

    def claimed(self) -> list[str]:
        return [f.result().todo.pk for f in self.claims if f.done() and not f.cancelled()]


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture
def waiting(loop: Loop, _threads_share_the_connection: None) -> Iterator[Waiting]:
    waiting = Waiting(loop)
    yield waiting
    for claim in waiting.claims:
        claim.cancel()


@pytest.fixture
def _threads_share_the_connection() -> Iterator[None]:
    """They do not, here: they have connections of their own, which end with the test."""
    yield
    executor = threads.executor()
    list(executor.map(lambda _: connection.close(), range(threads.threads() * 4)))


def test_a_created_todo_wakes_one_of_those_who_wait(waiting: Waiting) -> None:
    endpoint = make_endpoint()
    waiting.park(endpoint, ["inbox"], 3)
    todo = make_pending(endpoint=endpoint)
    wait_until(lambda: waiting.claimed() == [todo.pk], "the claim", seconds=1)
    assert (waiting.tries, waiting.parked()) == (4, 2)


def test_a_reclaimed_wait_wakes_as_well(waiting: Waiting) -> None:
    todo = make_waiting(age=seconds(90_000))
    waiting.park(todo.endpoint, ["inbox", "reviews"])
    reaper.tick()
    wait_until(lambda: waiting.claimed() == [todo.pk], "the claim", seconds=1)


def test_other_queues_and_other_endpoints_sleep_on(waiting: Waiting) -> None:
    endpoint = make_endpoint()
    waiting.park(endpoint, ["reviews"])
    waiting.park(make_endpoint(), ["inbox"])
    mine = waiting.park(endpoint, ["inbox", "reviews"])
    make_pending(endpoint=endpoint, queue="inbox")
    wait_until(mine[0].done, "the claim", seconds=1)
    assert (waiting.tries, waiting.parked()) == (4, 2)


def test_five_hundred_who_wait_try_no_more_often_than_there_is_work(waiting: Waiting) -> None:
    endpoint = make_endpoint()
    waiting.park(endpoint, ["inbox"], 500)
    tried = waiting.tries
    made = [make_pending(endpoint=endpoint).pk for _ in range(20)]
    wait_until(lambda: len(waiting.claimed()) == 20, "twenty claims", seconds=5)
    assert sorted(waiting.claimed()) == sorted(made)
    # At most one more each, when they met in another order than the hints came.
    wait_until(lambda: waiting.parked() == 480, "the rest parked")
    assert waiting.tries - tried <= 2 * 20


def test_the_hint_of_a_client_that_goes_away_wakes_the_next(waiting: Waiting) -> None:
    endpoint = make_endpoint()
    (gone,) = waiting.park(endpoint, ["inbox"])
    (other,) = waiting.park(endpoint, ["inbox"])
    # Both turns are taken, so that the first is woken and cannot try.
    for _ in range(parking.TRYING):
        waiting.loop.start(waiting.lot._turns.acquire()).result(timeout=5)
    todo = make_pending(endpoint=endpoint)
    wait_until(lambda: waiting.parked() == 1, "the first one woken")
    gone.cancel()
    for _ in range(parking.TRYING):
        waiting.loop.call(waiting.lot._turns.release)
    assert other.result(timeout=2).todo.pk == todo.pk


def test_what_nobody_hinted_at_is_found_and_all_of_it(
    waiting: Waiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parking, "LOOK_SECONDS", 0.3)
    endpoint, other = make_endpoint(), make_endpoint()
    todo = make_pending(endpoint=endpoint)
    transitions.cancel(endpoint, todo.pk)
    waiting.park(endpoint, ["inbox"], 20)
    waiting.park(other, ["inbox"], 20)
    copied = copies(todo, 10)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE todos SET state = 'pending', completed_at = NULL WHERE id = ANY(%s)", [copied]
        )
    wait_until(lambda: sorted(waiting.claimed()) == copied, "ten claims", seconds=3)
    wait_until(lambda: waiting.parked() == 30, "the rest parked")
    # Each that found something woke one more; the ten were not woken for by a look each.
    assert waiting.tries <= 40 + 2 * 10


@pytest.mark.parametrize("kind", ["lapsed lease", "due retry"])
def test_what_becomes_claimable_by_the_clock_is_found(
    waiting: Waiting, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(parking, "LOOK_SECONDS", 0.3)
    todo = make_claimed() if kind == "lapsed lease" else make_parked()
    waiting.park(todo.endpoint, ["inbox"])
    column = "lease_expires_at" if kind == "lapsed lease" else "next_retry_at"
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE todos SET {column} = statement_timestamp() - interval '1 s'")
    wait_until(lambda: waiting.claimed() == [todo.pk], "the claim", seconds=3)


def test_what_arrives_while_a_claim_tries_for_the_first_time_is_not_missed(
    waiting: Waiting,
) -> None:
    endpoint = make_endpoint()
    places = frozenset({(str(endpoint.pk), "inbox")})
    tries: list[Any] = []

    async def attempt() -> parking.Try:
        claim = None
        if tries:
            claim = await threads.run(
                lambda: transitions.claim_next(endpoint, ["inbox"], owner="agent")
            )
        else:
            # It has looked, and found nothing, when work arrives.
            await threads.run(lambda: transitions.create(endpoint, queue="inbox", title="late"))
            while not next(iter(waiting.lot._trying)).heard:
                await asyncio.sleep(0.01)
        tries.append(claim)
        return parking.Try(claim, places)

    claim = waiting.loop.start(waiting.lot.claim(attempt, LONG)).result(timeout=5)
    assert claim.todo.title == "late"
    assert len(tries) == 2


def test_time_is_up(waiting: Waiting) -> None:
    (claim,) = waiting.park(make_endpoint(), ["inbox"], wait=0.5)
    assert claim.result(timeout=2) is None
    assert waiting.tries == 1
    assert waiting.parked() == 0


def test_a_revocation_has_all_who_wait_there_try_and_be_refused(waiting: Waiting) -> None:
    endpoint = make_endpoint()
    refused = waiting.park(endpoint, ["inbox"], 3)
    waiting.park(make_endpoint(), ["inbox"])
    endpoints.revoke(endpoint)
    for claim in refused:
        with pytest.raises(EndpointInactive):
            claim.result(timeout=2)
    assert waiting.parked() == 1


def test_a_revocation_by_hand_is_found(waiting: Waiting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parking, "LOOK_SECONDS", 0.3)
    endpoint = make_endpoint()
    (claim,) = waiting.park(endpoint, ["inbox"])
    Endpoint.objects.update(expires_at=endpoint.created_at)
    with pytest.raises(EndpointInactive):
        claim.result(timeout=3)


def test_an_error_is_the_callers_alone(waiting: Waiting) -> None:
    endpoint = make_endpoint()
    places = frozenset({(str(endpoint.pk), "inbox")})
    tries = []

    async def attempt() -> parking.Try:
        tries.append(1)
        if len(tries) > 2:
            raise RuntimeError("the database is away")
        return parking.Try(None, places)

    claims = [waiting.loop.start(waiting.lot.claim(attempt, LONG)) for _ in range(2)]
    waiting.claims += claims
    wait_until(lambda: waiting.parked() == 2, "both parked")
    make_pending(endpoint=endpoint)
    with pytest.raises(RuntimeError):
        claims[0].result(timeout=2)
    assert not claims[1].done()
    assert len(tries) == 3


def test_nothing_is_left_when_nobody_waits(waiting: Waiting) -> None:
    claims = waiting.park(make_endpoint(), ["inbox", "reviews"], 5)
    for claim in claims:
        claim.cancel()
    wait_until(lambda: waiting.parked() == 0, "nobody parked")
    assert waiting.loop.call(lambda: (waiting.lot._parked, waiting.lot._trying)) == ({}, set())
    wait_until(lambda: waiting.lot._following is None, "nobody following")
