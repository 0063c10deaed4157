"""Bad input: an error that names the field, and nothing is written."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

import pytest

from tests.factories import OWNER, make, make_claimed, make_endpoint, make_pending
from tests.todos.seen import everything
from todos import endpoints, reaper, transitions
from todos.errors import InvalidInput
from todos.models import Todo

pytestmark = pytest.mark.django_db


def refused(field: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """Calls and returns what the InvalidInput says; it names the field and writes nothing."""
    before = everything()
    with pytest.raises(InvalidInput) as caught:
        call(*args, **kwargs)
    assert caught.value.field == field
    assert str(caught.value) == f"{field}: {caught.value.problem}"
    assert len(str(caught.value)) < 300
    assert everything() == before
    return caught.value.problem


Create = Callable[..., tuple[Todo, bool]]


@pytest.fixture
def create() -> Create:
    return partial(transitions.create, make_endpoint(), queue="inbox", title="work")


BAD_LABELS: dict[str, Any] = {
    "empty": "",
    "spaces": "  \t ",
    "201 characters": "x" * 201,
    "201 long characters": "😀" * 201,
    "5,000 characters": "x" * 5000,
    "NUL": "a\0b",
    "newline": "a\nb",
    "escape": "a\x1bb",
    "C1 control": "a\x85b",
    "lone surrogate": "a\ud800",
    "number": 7,
    "bytes": b"work",
    "list": ["work"],
    "true": True,
}
REQUIRED = ["queue", "title"]
OPTIONAL = ["idempotency_key", "assignee"]
MAY_BE_EMPTY = ["kind", "source"]


@pytest.mark.parametrize("field", REQUIRED + OPTIONAL + MAY_BE_EMPTY)
def test_create_refuses_bad_labels(create: Create, field: str, subtests: pytest.Subtests) -> None:
    for bad, value in BAD_LABELS.items():
        if field not in MAY_BE_EMPTY or bad != "empty":
            with subtests.test(bad):
                refused(field, create, **{field: value})


@pytest.mark.parametrize("field", MAY_BE_EMPTY)
def test_create_takes_labels_that_may_be_empty(create: Create, field: str) -> None:
    assert getattr(create(**{field: ""})[0], field) == ""


@pytest.mark.parametrize("field", REQUIRED + MAY_BE_EMPTY)
def test_create_refuses_labels_that_are_missing(create: Create, field: str) -> None:
    refused(field, create, **{field: None})


@pytest.mark.parametrize("field", [*OPTIONAL, *MAY_BE_EMPTY, "title"])
def test_create_takes_labels_of_200_characters(create: Create, field: str) -> None:
    longest = "😀" * 200
    assert getattr(create(**{field: longest})[0], field) == longest


@pytest.mark.parametrize("queue", ["Inbox", "inbox ", "nowhere", "__OTHER__"])
def test_create_refuses_a_queue_that_is_not_granted(create: Create, queue: str) -> None:
    assert "granted" in refused("queue", create, queue=queue)


def test_the_name_for_other_queues_is_no_queue(create: Create) -> None:
    assert "__other__" in refused("queue", create, queue="__other__")
    refused("queues", endpoints.vend, name="desk", queues=["inbox", "__other__"])


@pytest.mark.parametrize("number", [0, -1, 2**31, 10**30, 1.0, 1.5, "5", True, False, None, b"1"])
def test_create_refuses_bad_numbers_of_attempts(create: Create, number: Any) -> None:
    refused("max_attempts", create, max_attempts=number)


@pytest.mark.parametrize("number", [1, 2**31 - 1])
def test_create_takes_any_number_of_attempts_from_one(create: Create, number: int) -> None:
    assert create(max_attempts=number)[0].max_attempts == number


def test_create_and_claim_next_need_an_endpoint() -> None:
    refused("endpoint", transitions.create, None, queue="inbox", title="work")
    refused("endpoint", transitions.claim_next, None, ["inbox"], owner=OWNER)


OWNED = ["heartbeat", "complete", "fail", "release", "interrupt", "resume", "claim", "claim_next"]


@pytest.mark.parametrize("verb", OWNED)
def test_an_owner_is_a_label(verb: str, subtests: pytest.Subtests) -> None:
    todo = make("input-required" if verb == "resume" else "claimed")
    arguments = {"state": "input-required"} if verb == "interrupt" else {}
    subject = None if verb == "claim_next" else todo.pk
    call = getattr(transitions, verb)
    for bad, value in (BAD_LABELS | {"missing": None}).items():
        with subtests.test(bad):
            refused("owner", call, todo.endpoint, subject, owner=value, **arguments)


def test_an_operators_name_is_a_label_as_well(subtests: pytest.Subtests) -> None:
    todo = make_pending()
    for bad, value in BAD_LABELS.items():
        with subtests.test(bad):
            refused("owner", transitions.claim, None, todo.pk, owner=value)


@pytest.mark.parametrize(
    "state",
    [
        "",
        "pending",
        "claimed",
        "input_required",
        "INPUT-REQUIRED",
        "input-required ",
        None,
        0,
        True,
        b"input-required",
        ["input-required"],
        {},
    ],
    ids=repr,
)
def test_an_interrupt_goes_into_one_of_the_two_states_only(state: Any) -> None:
    todo = make_claimed()
    problem = refused(
        "state", transitions.interrupt, todo.endpoint, todo.pk, owner=OWNER, state=state
    )
    assert problem == "must be input-required or auth-required"


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def in_itself() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


MIB = 1024 * 1024
QUARTER = 256 * 1024

BAD_JSON: dict[str, Any] = {
    "NUL": "a\0b",
    "NUL in a key": {"a\0b": 1},
    "NUL deep inside": [{"a": ["x", {"b": "\0"}]}],
    "NUL after a backslash": "\\\0",
    "NaN": float("nan"),
    "Infinity": [float("inf")],
    "-Infinity": {"a": -float("inf")},
    "lone surrogate": "\ud800",
    "lone surrogate in a key": {"\udfff": 1},
    "one byte too many": "x" * (QUARTER - 1),
    "too many bytes in fewer characters": "é" * (QUARTER // 2),
    "a mebibyte": {"a": "x" * MIB},
    "nested one level too deeply": nested(101),
    "objects nested too deeply": json.loads('{"a":' * 101 + "1" + "}" * 101),
    "tuples nested too deeply": [[(nested(98),)]],
    "nested beyond Python's own limit": nested(100_000),
    "in itself": in_itself(),
    "bytes": b"x",
    "a set": {1, 2},
    "an object": object(),
    "a tuple as a key": {(1, 2): 3},
    "a number of 5,000 digits": 10**5000,
}


def test_a_payload_is_json_that_postgresql_can_store(
    create: Create, subtests: pytest.Subtests
) -> None:
    for bad, value in BAD_JSON.items():
        with subtests.test(bad):
            refused("payload", create, payload=value)


@pytest.mark.parametrize("verb", ["complete", "fail", "interrupt", "resume", "cancel", "reject"])
def test_a_result_is_json_that_postgresql_can_store(verb: str, subtests: pytest.Subtests) -> None:
    todo = make({"resume": "input-required", "reject": "pending"}.get(verb, "claimed"))
    arguments = {} if verb in ("cancel", "reject") else {"owner": OWNER}
    arguments |= {"state": "input-required"} if verb == "interrupt" else {}
    call: Callable[..., Todo] = getattr(transitions, verb)
    for bad, value in BAD_JSON.items():
        with subtests.test(bad):
            refused("result", call, todo.endpoint, todo.pk, result=value, **arguments)


GOOD_JSON: dict[str, Any] = {
    "0": 0,
    "false": False,
    "empty text": "",
    "empty list": [],
    "empty object": {},
    "null inside": [None, {"a": None}],
    "a backslash before u0000": "\\u0000",
    "backslashes": "\\\\u0000\\",
    "text of an escape": "\x1b\u2028",
    "not ASCII": "ü€😀",
    "exactly 256 KiB": "x" * (QUARTER - 2),
    "a big number": 10**400,
    "a tiny number": 5e-324,
    "a percent sign": "100 %s %(id)s",
    "nesting up to the limit": nested(100),
    "nested objects up to the limit": json.loads('{"a":' * 100 + "1" + "}" * 100),
    "wide and flat": [[]] * 1000,
}


@pytest.mark.parametrize("good", GOOD_JSON)
def test_good_json_comes_back_as_it_was(create: Create, good: str) -> None:
    todo, _ = create(payload=GOOD_JSON[good])
    assert todo.payload == GOOD_JSON[good]
    assert Todo.objects.get().payload == GOOD_JSON[good]
    transitions.claim(todo.endpoint, todo.pk, owner=OWNER)
    done = transitions.complete(todo.endpoint, todo.pk, owner=OWNER, result=GOOD_JSON[good])
    assert done.result == GOOD_JSON[good]
    assert Todo.objects.get().result == GOOD_JSON[good]


def test_what_was_asked_at_the_limit_of_nesting_can_still_be_read_from_its_dead_letter() -> None:
    todo = make("input-required", asked=nested(100), max_attempts=1)
    dead = reaper.reclaim_now(todo.pk)
    assert dead.result == Todo.objects.get().result
    assert dead.result is not None
    assert dead.result["interrupt"] == nested(100)


@pytest.mark.parametrize("value", [[10**5000], (10**5000,), {"n": 10**5000}])
def test_what_cannot_be_shown_is_refused_like_any_other_junk(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^max_attempts: must be a whole number"):
        transitions.create(make_endpoint(), queue="inbox", title="work", max_attempts=value)


@pytest.mark.parametrize("payload", [{1: "a", "1": "b"}, {True: 1}, [{"deep": {None: 1}}]])
def test_keys_that_json_would_change_are_refused(payload: Any) -> None:
    with pytest.raises(InvalidInput, match=r"^payload: must have strings as the keys"):
        transitions.create(make_endpoint(), queue="inbox", title="work", payload=payload)


@pytest.mark.parametrize(
    "expires_at",
    [
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=12))),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=12))),
    ],
)
def test_an_expiry_beyond_the_years_of_python_in_utc_is_refused(expires_at: datetime) -> None:
    with pytest.raises(InvalidInput, match=r"^expires_at: must be in the years 1 to 9999"):
        make_endpoint(expires_at=expires_at)


def test_an_owner_that_is_no_user_is_refused() -> None:
    owner: Any = "x" * 5_000
    with pytest.raises(InvalidInput, match=r"^owner: must be a user, not str$"):
        make_endpoint(owner=owner)
