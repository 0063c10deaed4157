"""The fence: a token that a claim may ask for, and that its holder must then show."""

import base64
import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from tests.factories import (
    OWNER,
    STRANGER,
    lapse,
    make_claim,
    make_claimed,
    make_pending,
    make_waiting,
)
from tests.todos.seen import entries, everything, rows
from todos import reaper, transitions
from todos.errors import InvalidInput, TodoConflict, TodoNotFound
from todos.models import Todo

pytestmark = pytest.mark.django_db

NEED_THE_TOKEN = ["heartbeat", "complete", "fail", "release", "interrupt"]


def use(verb: str, todo: Todo, token: Any, *, operator: bool = False) -> Todo:
    arguments = {"state": "input-required"} if verb == "interrupt" else {}
    endpoint = None if operator else todo.endpoint
    written = getattr(transitions, verb)(
        endpoint, todo.pk, owner=todo.owner, lease_token=token, **arguments
    )
    assert isinstance(written, Todo)
    return written


def test_a_claim_that_asks_for_no_fence_gets_no_token() -> None:
    assert make_claim().lease_token is None
    assert entries(Todo.objects.get())[1]["lease_token_hash"] is None


def test_tokens_have_at_least_128_random_bits_and_are_never_the_same() -> None:
    tokens = {str(make_claim(fence=True).lease_token) for _ in range(20)}
    assert len(tokens) == 20
    for token in tokens:
        assert len(base64.urlsafe_b64decode(token + "==")) >= 16


def test_a_token_is_stored_only_as_its_hash() -> None:
    claim = make_claim(fence=True)
    token = str(claim.lease_token)
    (entry,) = entries(claim.todo).values()
    assert bytes(entry["lease_token_hash"]) == hashlib.sha256(token.encode()).digest()
    assert not any(token in line for line in everything())
    assert token not in repr(vars(claim.todo))


def test_claim_next_hands_out_a_fence_as_well() -> None:
    todo = make_pending()
    claim = transitions.claim_next(todo.endpoint, None, owner=OWNER, fence=True)
    assert claim is not None
    with pytest.raises(TodoConflict):
        use("complete", claim.todo, None)
    assert use("complete", claim.todo, claim.lease_token).state == "done"


@pytest.mark.parametrize("verb", NEED_THE_TOKEN)
def test_the_holder_with_the_token_may(verb: str) -> None:
    claim = make_claim(fence=True)
    use(verb, claim.todo, claim.lease_token)


BAD_TOKENS: dict[str, Callable[[str], Any]] = {
    "missing": lambda token: None,
    "wrong": lambda token: "x" * len(token),
    "empty": lambda token: "",
    "padded": lambda token: token + " ",
    "its own hash": lambda token: hashlib.sha256(token.encode()).hexdigest(),
    "NUL": lambda token: token + "\0",
    "surrogate": lambda token: "\ud800",
    "bytes": lambda token: token.encode(),
    "number": lambda token: 5,
}


@pytest.mark.parametrize("kind", BAD_TOKENS)
@pytest.mark.parametrize("verb", NEED_THE_TOKEN)
def test_a_token_that_does_not_fit_is_a_conflict(verb: str, kind: str) -> None:
    claim = make_claim(fence=True)
    before = everything()
    with pytest.raises(TodoConflict, match="token does not fit") as caught:
        use(verb, claim.todo, BAD_TOKENS[kind](str(claim.lease_token)))
    assert caught.value.state == "claimed"
    assert everything() == before


@pytest.mark.parametrize("verb", NEED_THE_TOKEN)
def test_a_token_that_nobody_asked_for_is_a_conflict(verb: str) -> None:
    todo = make_claimed()
    before = everything()
    with pytest.raises(TodoConflict, match="token does not fit"):
        use(verb, todo, "x" * 43)
    assert everything() == before


@pytest.mark.parametrize("verb", NEED_THE_TOKEN)
@pytest.mark.parametrize("token", ["x" * 43, "\0", 5])
def test_a_bad_token_for_no_todo_is_not_found(verb: str, token: Any) -> None:
    todo = make_claimed()
    todo.pk = "td_none"
    with pytest.raises(TodoNotFound):
        use(verb, todo, token)


def test_the_token_without_the_name_is_not_enough() -> None:
    claim = make_claim(fence=True)
    claim.todo.owner = STRANGER
    with pytest.raises(TodoConflict, match="held by someone else"):
        use("complete", claim.todo, claim.lease_token)


@pytest.mark.parametrize("verb", NEED_THE_TOKEN)
@pytest.mark.parametrize("token", [None, "anything", "\0", 5])
def test_an_operator_needs_no_token(verb: str, token: Any) -> None:
    claim = make_claim(fence=True)
    use(verb, claim.todo, token, operator=True)


def test_the_token_survives_the_wait_and_resume_needs_none() -> None:
    claim = make_claim(fence=True)
    todo = use("interrupt", claim.todo, claim.lease_token)
    transitions.resume(todo.endpoint, todo.pk, owner=OWNER, lease_ttl_seconds=60)
    with pytest.raises(TodoConflict, match="token does not fit"):
        use("complete", todo, None)
    assert use("complete", todo, claim.lease_token).state == "done"


def test_a_heartbeat_keeps_the_token() -> None:
    claim = make_claim(fence=True)
    use("heartbeat", claim.todo, claim.lease_token)
    assert use("complete", claim.todo, claim.lease_token).state == "done"


def test_a_sweep_voids_the_token() -> None:
    claim = make_claim(fence=True)
    lapse(claim.todo)
    reaper.reap_expired()
    again = transitions.claim(claim.todo.endpoint, claim.todo.pk, owner=OWNER, fence=True)
    with pytest.raises(TodoConflict, match="token does not fit"):
        use("complete", again.todo, claim.lease_token)
    assert use("complete", again.todo, again.lease_token).state == "done"


def test_a_takeover_voids_the_token_even_for_the_same_owner() -> None:
    claim = make_claim(fence=True)
    lapse(claim.todo)
    again = transitions.claim(claim.todo.endpoint, claim.todo.pk, owner=OWNER)
    with pytest.raises(TodoConflict, match="token does not fit"):
        use("heartbeat", again.todo, claim.lease_token)
    assert use("complete", again.todo, None).state == "done"


def test_a_reclaimed_wait_voids_the_token() -> None:
    claim = make_claim(fence=True)
    use("interrupt", claim.todo, claim.lease_token)
    reaper.reclaim_now(claim.todo.pk)
    again = transitions.claim(claim.todo.endpoint, claim.todo.pk, owner=OWNER)
    with pytest.raises(TodoConflict, match="token does not fit"):
        use("complete", again.todo, claim.lease_token)


@pytest.mark.parametrize("fence", [1, 0, "yes", None, "x" * 43])
def test_a_fence_is_asked_for_by_true_or_false(fence: Any) -> None:
    todo = make_pending()
    with pytest.raises(InvalidInput, match=r"^fence: "):
        transitions.claim(todo.endpoint, todo.pk, owner=OWNER, fence=fence)
    assert rows("SELECT count(*) FROM todo_attempts") == [{"count": 0}]


def test_a_wait_without_a_fence_goes_on_without_one() -> None:
    todo = make_waiting()
    transitions.resume(todo.endpoint, todo.pk, owner=OWNER)
    assert use("release", Todo.objects.get(), None).state == "pending"


def test_a_claim_that_is_logged_does_not_show_its_token() -> None:
    claim = make_claim(fence=True)
    assert claim.lease_token
    assert claim.lease_token not in repr(claim)
