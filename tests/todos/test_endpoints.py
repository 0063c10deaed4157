"""Endpoints are vended with a scope that stays, and revoked for good."""

import hashlib
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from tests.factories import (
    OWNER,
    assert_invariants,
    make_claimed,
    make_endpoint,
    make_pending,
    make_user,
    make_waiting,
)
from tests.todos.seen import clock, everything, heard, row
from todos import endpoints, hooks, reaper, transitions
from todos.errors import EndpointInactive, InvalidInput
from todos.models import Endpoint, Todo

pytestmark = pytest.mark.django_db


def test_vend_writes_what_it_is_given() -> None:
    owner, began, later = make_user(), clock(), clock() + timedelta(days=1)
    endpoint, _ = endpoints.vend(
        name="till 3",
        queues=["inbox", "reviews", "inbox"],
        owner=owner,
        default_lease_ttl_seconds=600,
        expires_at=later,
    )
    stored = Endpoint.objects.get()
    assert stored == endpoint
    assert (stored.name, stored.queues, stored.owner) == ("till 3", ["inbox", "reviews"], owner)
    assert (stored.default_lease_ttl_seconds, stored.expires_at) == (600, later)
    assert began <= stored.created_at <= clock()
    assert endpoint.created_at == stored.created_at
    assert (stored.revoked_at, stored.revocation_finished_at) == (None, None)


def test_an_endpoint_needs_no_more_than_a_name_and_a_queue() -> None:
    endpoint = make_endpoint(name="desk", queues=["inbox"])
    assert (endpoint.owner, endpoint.expires_at) == (None, None)
    assert endpoint.default_lease_ttl_seconds is None


def test_the_credential_is_handed_out_once_and_stored_only_as_its_hash() -> None:
    made = [endpoints.vend(name="desk", queues=["inbox"]) for _ in range(5)]
    assert len({credential for _, credential in made}) == 5
    for endpoint, credential in made:
        stored = Endpoint.objects.get(pk=endpoint.pk)
        assert bytes(stored.credential_hash) == hashlib.sha256(credential.encode()).digest()
        assert credential.startswith(stored.credential_prefix)
        assert len(stored.credential_prefix) <= len(credential) - 32
        assert not any(credential in line for line in everything())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "x" * 201),
        ("name", "a\0b"),
        ("name", None),
        ("queues", []),
        ("queues", "inbox"),
        ("queues", None),
        ("queues", [""]),
        ("queues", ["inbox", "x" * 201]),
        ("queues", ["inbox", "__other__"]),
        ("queues", ["inbox", "a\0b"]),
        ("queues", [7]),
        ("default_lease_ttl_seconds", 59),
        ("default_lease_ttl_seconds", 86_401),
        ("expires_at", datetime(2030, 1, 1)),  # noqa: DTZ001
        ("expires_at", "2030-01-01T00:00:00Z"),
        ("expires_at", 5),
    ],
)
def test_vend_refuses_bad_input(field: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=f"^{field}: ") as caught:
        make_endpoint(**{field: value})
    assert caught.value.field == field
    assert not Endpoint.objects.exists()


def test_two_endpoints_never_see_each_others_queues() -> None:
    mine, theirs = make_endpoint(), make_endpoint()
    make_pending(endpoint=mine)
    assert transitions.claim_next(theirs, None, owner=OWNER) is None
    assert transitions.claim_next(mine, None, owner=OWNER) is not None


def test_revoke_returns_the_endpoint_as_it_is_then() -> None:
    todo = make_pending()
    revoked = endpoints.revoke(todo.endpoint)
    stored = Endpoint.objects.get()
    assert revoked == stored
    assert revoked.revoked_at == stored.revoked_at
    assert revoked.revocation_finished_at == stored.revocation_finished_at
    assert revoked.revoked_at is not None
    assert revoked.revocation_finished_at is not None
    assert revoked.revoked_at <= revoked.revocation_finished_at <= clock()


def test_a_second_revocation_changes_nothing() -> None:
    endpoint = endpoints.revoke(make_waiting().endpoint)
    before = everything()
    again = endpoints.revoke(endpoint)
    assert again.revoked_at == endpoint.revoked_at
    assert everything() == before


def test_a_revocation_by_hand_finishes_what_a_crash_left() -> None:
    todo = make_waiting()
    Endpoint.objects.update(revoked_at=clock())
    with heard() as sent:
        endpoint = endpoints.revoke(todo.endpoint)
    assert sent == [(todo.pk, "failed")]
    assert endpoint.revocation_finished_at is not None


def test_revoking_an_expired_endpoint_tells_of_its_expiry() -> None:
    todo = make_waiting()
    Endpoint.objects.update(expires_at=clock())
    endpoints.revoke(todo.endpoint)
    assert '"endpoint_expired"' in row(todo)["result"]


def test_revoking_before_the_expiry_tells_of_the_revocation() -> None:
    todo = make_waiting(endpoint=make_endpoint(expires_at=timezone.now() + timedelta(days=1)))
    endpoints.revoke(todo.endpoint)
    Endpoint.objects.update(expires_at=clock())
    reaper.tick()
    assert '"endpoint_revoked"' in row(todo)["result"]


@pytest.mark.django_db(transaction=True)
def test_the_mark_is_committed_before_the_first_todo_goes() -> None:
    todo = make_claimed()
    seen: list[tuple[bool, bool, object]] = []

    def look(todo: Todo, **_: Any) -> None:
        endpoint = Endpoint.objects.get()
        with pytest.raises(EndpointInactive):
            transitions.create(endpoint, queue="inbox", title="too late")
        seen.append(
            (
                connection.in_atomic_block,
                endpoint.revoked_at is not None,
                endpoint.revocation_finished_at,
            )
        )

    hooks.todo_transitioned.connect(look)
    try:
        endpoints.revoke(todo.endpoint)
    finally:
        hooks.todo_transitioned.disconnect(look)
    assert seen == [(False, True, None)]


def test_a_revoked_endpoint_lets_its_history_be_read_and_nothing_be_done() -> None:
    todo = make_claimed()
    endpoint = endpoints.revoke(todo.endpoint)
    with pytest.raises(EndpointInactive, match="revoked or has expired"):
        transitions.create(endpoint, queue="inbox", title="late")
    with pytest.raises(EndpointInactive):
        transitions.claim_next(endpoint, None, owner=OWNER)
    with pytest.raises(EndpointInactive):
        transitions.claim(endpoint, todo.pk, owner=OWNER)
    with pytest.raises(EndpointInactive):
        transitions.retry(endpoint, todo.pk)
    assert todo.attempts.count() == 1
    assert_invariants()
