"""Which lease counts: the call's, else the endpoint's, else the server's; and the backoffs."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.factories import (
    OWNER,
    lapse,
    ledger,
    make_claimed,
    make_endpoint,
    make_parked,
    make_pending,
    make_waiting,
)
from tests.todos.seen import everything, seconds, watch
from todos import lease, transitions
from todos.errors import InvalidInput
from todos.models import Endpoint, Todo

pytestmark = pytest.mark.django_db


def claim(todo: Todo, **arguments: Any) -> None:
    transitions.claim(todo.endpoint, todo.pk, owner=OWNER, **arguments)


def claim_next(todo: Todo, **arguments: Any) -> None:
    transitions.claim_next(todo.endpoint, None, owner=OWNER, **arguments)


def heartbeat(todo: Todo, **arguments: Any) -> None:
    transitions.heartbeat(todo.endpoint, todo.pk, owner=OWNER, **arguments)


def operators_claim(todo: Todo, **arguments: Any) -> None:
    transitions.claim(None, todo.pk, owner=None, **arguments)


def operators_heartbeat(todo: Todo, **arguments: Any) -> None:
    transitions.heartbeat(None, todo.pk, owner=None, **arguments)


TAKERS = [claim, claim_next, operators_claim]
KEEPERS = [heartbeat, operators_heartbeat]
Verb = Callable[..., None]


def a_todo_for(verb: Verb, endpoint: Endpoint) -> Todo:
    if verb in TAKERS:
        return make_pending(endpoint=endpoint)
    return lapse(make_claimed(endpoint=endpoint))


def test_the_bounds_are_those_of_the_domain() -> None:
    assert (lease.SERVER_DEFAULT, lease.MIN_DEFAULT, lease.MAX_TTL) == (300, 60, 86_400)


@pytest.mark.parametrize("verb", TAKERS + KEEPERS)
@pytest.mark.parametrize(
    ("of_the_call", "of_the_endpoint", "in_effect"),
    [
        (None, None, 300),
        (None, 60, 60),
        (None, 86_400, 86_400),
        (1, None, 1),
        (1, 3600, 1),
        (7200, 3600, 7200),
        (86_400, 60, 86_400),
        (86_401, None, 86_400),
        (10**30, 60, 86_400),
    ],
)
def test_the_calls_else_the_endpoints_else_the_servers(
    verb: Verb, of_the_call: int | None, of_the_endpoint: int | None, in_effect: int
) -> None:
    todo = a_todo_for(verb, make_endpoint(default_lease_ttl_seconds=of_the_endpoint))
    with watch(todo) as seen:
        verb(todo, lease_ttl_seconds=of_the_call)
    assert seen.columns["lease_expires_at"] == seconds(in_effect)
    assert seen.attempts[1]["lease_expires_at"] == seconds(in_effect)


def test_the_lease_of_a_claim_does_not_outlast_its_heartbeat() -> None:
    todo = make_claimed(lease_ttl_seconds=86_400)
    with watch(todo) as seen:
        heartbeat(todo)
    assert seen.columns == {"lease_expires_at": seconds(300)}


@pytest.mark.parametrize("given", [86_401, 10**30])
def test_a_resume_cuts_its_lease_as_well(given: int) -> None:
    todo = lapse(make_waiting())
    with watch(todo) as seen:
        transitions.resume(todo.endpoint, todo.pk, owner=OWNER, lease_ttl_seconds=given)
    assert seen.columns["lease_expires_at"] == seconds(86_400)


REFUSED: list[Any] = [0, -1, -(10**30), 60.0, 60.5, True, False, "60", "", b"60", [60], {}]


@pytest.mark.parametrize("given", REFUSED)
@pytest.mark.parametrize("verb", [claim, claim_next, heartbeat])
def test_a_lease_that_is_no_positive_whole_number_is_refused(verb: Verb, given: Any) -> None:
    todo = a_todo_for(verb, make_endpoint())
    before = everything()
    with pytest.raises(InvalidInput, match=r"^lease_ttl_seconds: ") as caught:
        verb(todo, lease_ttl_seconds=given)
    assert caught.value.field == "lease_ttl_seconds"
    assert everything() == before


@pytest.mark.parametrize("given", REFUSED)
def test_a_resume_refuses_the_same_leases(given: Any) -> None:
    todo = make_waiting()
    before = everything()
    with pytest.raises(InvalidInput, match=r"^lease_ttl_seconds: "):
        transitions.resume(todo.endpoint, todo.pk, owner=OWNER, lease_ttl_seconds=given)
    assert everything() == before


@pytest.mark.parametrize("given", [*REFUSED, 1, 59, 86_401, 10**30])
def test_an_endpoints_own_default_is_refused_outside_its_bounds_and_never_clamped(
    given: Any,
) -> None:
    with pytest.raises(InvalidInput, match=r"^default_lease_ttl_seconds: ") as caught:
        make_endpoint(default_lease_ttl_seconds=given)
    assert caught.value.field == "default_lease_ttl_seconds"
    assert not Endpoint.objects.exists()


@pytest.mark.parametrize(
    ("attempt", "backoff"),
    [(1, 30), (2, 60), (3, 120), (4, 240), (5, 480), (6, 900), (7, 900), (8, 900)],
)
def test_the_backoff_doubles_up_to_a_quarter_of_an_hour(attempt: int, backoff: int) -> None:
    todo = make_claimed(max_attempts=99, attempt=attempt)
    with watch(todo) as seen:
        transitions.fail(todo.endpoint, todo.pk, owner=OWNER)
    assert seen.columns["next_retry_at"] == seconds(backoff)


def test_the_backoff_of_a_very_late_attempt_is_no_error() -> None:
    todo = make_claimed(max_attempts=2**31 - 1)
    Todo.objects.update(attempt=2**31 - 2)
    with watch(todo) as seen:
        transitions.fail(todo.endpoint, todo.pk, owner=OWNER)
    assert seen.columns["next_retry_at"] == seconds(900)


def test_after_a_humans_retry_the_backoff_starts_anew() -> None:
    todo = make_parked(attempt=3)
    transitions.retry(todo.endpoint, todo.pk)
    transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    with watch(todo) as seen:
        transitions.fail(todo.endpoint, todo.pk, owner=OWNER)
    assert seen.columns["next_retry_at"] == seconds(30)
    assert [entry.attempt for entry in ledger(todo)] == [1, 2, 3, 1]
