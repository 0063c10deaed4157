"""A message is bounded, whatever happens in a tick, and says so."""

import json
from typing import Any

import pytest

from todos.feed.message import MAX_HINTS, MAX_PLACES, Hint, Message, decode

ENDPOINT = "0b6c5c8e-0000-4000-8000-000000000001"


def hint(todo: str = "td_1", **fields: Any) -> Hint:
    known: dict[str, Any] = {
        "endpoint": ENDPOINT,
        "queue": "inbox",
        "state": "pending",
        "transition": "create",
        "reason": "created",
        "attempt": 0,
        "max_attempts": 5,
        "parked": False,
        "at": 1.0,
    }
    return Hint(todo, **(known | fields))


def told(*hints: Hint) -> Message:
    message = Message()
    for each in hints:
        message.add(each)
    return decode(message.encode())


def test_a_message_is_read_as_it_was_written() -> None:
    message = Message()
    message.add(hint(queue="größer \"' \u2028 <b>", waited=86_400.5))
    message.end(ENDPOINT)
    read = decode(message.encode())
    assert read.hints == message.hints
    assert (read.places, read.everywhere, read.ended) == (set(), False, {ENDPOINT})


def test_of_a_todo_the_last_hint_of_the_tick_is_told() -> None:
    message = told(hint(), hint("td_2"), hint(transition="claim", state="claimed"))
    assert [(h.todo, h.transition) for h in message.hints] == [
        ("td_2", "create"),
        ("td_1", "claim"),
    ]


@pytest.mark.parametrize("transition", ["reclaim lapsed wait", "reclaim now"])
def test_a_reclaim_is_told_whatever_follows_it_in_the_tick(transition: str) -> None:
    message = told(
        hint(transition="interrupt", at=1.0),
        hint(transition=transition, at=2.0, waited=90_000.0),
        hint(transition="claim", at=3.0),
        hint(transition="interrupt", at=4.0),
        hint(transition=transition, at=5.0, waited=60.0),
        hint(transition="claim", at=6.0),
        hint(transition="complete", at=7.0),
    )
    assert [(h.transition, h.waited) for h in message.hints] == [
        (transition, 90_000.0),
        (transition, 60.0),
        ("complete", None),
    ]


def test_beyond_its_bound_a_message_says_where_and_no_longer_what() -> None:
    many = [hint(f"td_{n}", queue=f"q{n % 3}") for n in range(MAX_HINTS + 3_000)]
    message = told(*many)
    assert message.hints == many[:MAX_HINTS]
    assert message.places == {(ENDPOINT, f"q{n}") for n in range(3)}
    assert not message.everywhere
    assert len(message.encode()) < 150_000


def test_too_many_places_are_everywhere() -> None:
    many = [hint(f"td_{n}", queue=f"q{n}") for n in range(MAX_HINTS + MAX_PLACES + 1)]
    message = told(*many)
    assert (len(message.hints), len(message.places)) == (MAX_HINTS, MAX_PLACES)
    assert message.everywhere


def test_too_many_ended_endpoints_are_everywhere() -> None:
    message = Message()
    for number in range(MAX_PLACES + 1):
        message.end(str(number))
    assert (len(message.ended), message.everywhere) == (MAX_PLACES, True)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"junk \xff",
        b"[]",
        b"{}",
        json.dumps({"version": 2}).encode(),
        json.dumps({"version": 1, "hints": [["too", "short"]], "places": []}).encode(),
    ],
)
def test_what_cannot_be_read_may_have_said_anything(data: bytes) -> None:
    message = decode(data)
    assert message.everywhere
    assert not message.hints
