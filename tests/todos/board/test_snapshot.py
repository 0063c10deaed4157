"""The board as pieces of a page: what changes travels, what does not change stays."""

from datetime import timedelta

import pytest

from settings_app.models import Setting
from tests.factories import age, copies, make, make_claimed, make_dead_letter, make_pending
from tests.factories import make_waiting as waiting
from tests.todos.admin.pages import HOSTILE
from todos import endpoints, reaper, transitions
from todos.board.lanes import Filters
from todos.board.snapshot import Snapshot, take
from todos.models import Todo
from todos.states import DEAD, INTERRUPT_STATES, PARKED, State

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)


def look() -> Snapshot:
    return take(Filters())


def moments(html: str) -> dict[str, str]:
    """The words before each clock of a piece, and its moment in milliseconds."""
    import re

    return {before: at for at, before in re.findall(r'data-at="(\d+)" data-before="([^"]*)"', html)}


def milliseconds(moment: object) -> str:
    return str(round(moment.timestamp() * 1000))  # type: ignore[attr-defined]


def test_the_first_change_is_everything() -> None:
    todo = make_claimed()
    change = look().since(None)
    assert change["whole"]
    assert set(change["heads"]) == {"pending", "claimed", "waiting", "parked", "dead", "done"}
    assert set(change["cards"]) == {todo.pk}


def test_nothing_travels_twice() -> None:
    waiting(age=25 * HOUR)
    make_claimed()
    reaper.tick()
    first = look()
    change = look().since(first)
    assert (change["heads"], change["cards"], change["news"]) == ({}, {}, {})
    assert change["order"] == first.order
    assert change["reclaims"] == list(first.reclaims) != []


def test_a_todo_that_moves_travels_alone() -> None:
    todo = make_pending()
    copies(todo, 20)
    first = look()
    transitions.claim(todo.endpoint, todo.pk, owner="ada")
    change = look().since(first)
    assert set(change["cards"]) == {todo.pk}
    assert set(change["heads"]) == {"pending", "claimed"}
    assert todo.pk in change["order"]["claimed"]
    assert todo.pk not in change["order"]["pending"]


def test_a_heartbeat_moves_the_clock_of_its_card() -> None:
    todo = make_claimed()
    first = look()
    transitions.heartbeat(todo.endpoint, todo.pk, owner=todo.owner, lease_ttl_seconds=999)
    assert set(look().since(first)["cards"]) == {todo.pk}


def test_each_card_has_the_clock_that_matters() -> None:
    todos = {c: make(c) for c in (State.PENDING, State.CLAIMED, *INTERRUPT_STATES, PARKED, DEAD)}
    cards = look().cards
    day = timedelta(days=1)
    wait = todos[State.INPUT_REQUIRED]
    assert wait.interrupted_at
    assert moments(cards[wait.pk]) == {
        "reclaimed in": milliseconds(wait.interrupted_at + day),
        "waits": milliseconds(wait.interrupted_at),
    }
    assert moments(cards[todos[State.CLAIMED].pk]) == {
        "lease lapses in": milliseconds(todos[State.CLAIMED].lease_expires_at)
    }
    assert moments(cards[todos[PARKED].pk]) == {
        "retry in": milliseconds(todos[PARKED].next_retry_at)
    }
    assert moments(cards[todos[State.PENDING].pk]) == {
        "pending for": milliseconds(todos[State.PENDING].created_at)
    }
    assert moments(cards[todos[DEAD].pk]) == {"": milliseconds(todos[DEAD].completed_at)}


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        ("0", "no deadline: waits are not reclaimed"),
        ("-5", "no deadline: waits are not reclaimed"),
        ("9" * 30, "no deadline: waits are not reclaimed"),
    ],
)
def test_a_wait_without_a_deadline_says_so(stored: str, words: str) -> None:
    todo = waiting()
    Setting.objects.create(key="interrupt_lease_ttl_seconds", value=stored)
    assert words in look().cards[todo.pk]
    assert "reclaimed in" not in look().cards[todo.pk]


@pytest.mark.parametrize("days", [30, 36_500])
def test_a_far_deadline_is_named_as_it_is(days: int) -> None:
    todo = waiting()
    Setting.objects.create(key="interrupt_lease_ttl_seconds", value=str(days * 86_400))
    assert todo.interrupted_at
    end = todo.interrupted_at + timedelta(days=days)
    assert moments(look().cards[todo.pk])["reclaimed in"] == milliseconds(end)
    assert f"{end:%Y-%m-%d %H:%M:%S} UTC" in look().cards[todo.pk]


def test_a_wait_of_an_ended_endpoint_names_its_end() -> None:
    todo = waiting()
    type(todo.endpoint).objects.update(expires_at=todo.endpoint.created_at)
    assert "its endpoint has ended: a dead letter at the next tick" in look().cards[todo.pk]


def test_a_dead_letter_says_why() -> None:
    failed = make_dead_letter()
    unanswered = waiting(max_attempts=1, age=25 * HOUR)
    lapsed = make_claimed(max_attempts=1, lapsed_for=HOUR)
    reaper.tick()
    revoked = make_pending()
    endpoints.revoke(revoked.endpoint)
    cards = look().cards
    assert "its worker failed at the last attempt" in cards[failed.pk]
    assert "nobody answered in time" in cards[unanswered.pk]
    assert "its lease lapsed at the last attempt" in cards[lapsed.pk]
    assert "its endpoint was revoked or expired" in cards[revoked.pk]


def test_a_reclaim_is_told_in_full() -> None:
    waiting(title="Rename it", age=24 * HOUR + timedelta(seconds=30), attempt=2)
    waiting(title="Last try", age=timedelta(days=3), max_attempts=1)
    reaper.tick()
    told = " | ".join(look().reclaims.values())
    assert "reclaimed after 24 h 30 s: back to pending, attempt 2 of 5" in told
    assert "reclaimed after 3 days: dead letter, attempt 1 of 1" in told
    assert "Rename it" in told


def test_a_head_says_how_many_and_how_old() -> None:
    todo = age(make_pending(), created_at=HOUR)
    copies(todo, 75)
    head = look().heads["pending"]
    assert '<span class="count">76</span>' in head
    assert "Shown: 50, the oldest first. 26 more." in head
    assert milliseconds(todo.created_at) in head
    assert "none" in look().heads["dead"]


def test_hostile_texts_are_inert() -> None:
    todo = waiting(
        title=HOSTILE,
        queue=HOSTILE.replace("\u202e", ""),
        owner=HOSTILE,
        claimant=HOSTILE,
        endpoint=endpoints.vend(name=HOSTILE, queues=[HOSTILE.replace("\u202e", "")])[0],
    )
    reaper.reclaim_now(todo.pk)
    transitions.claim(todo.endpoint, todo.pk, owner=HOSTILE, claimant=HOSTILE)
    snapshot = look()
    pieces = [*snapshot.cards.values(), *snapshot.reclaims.values(), *snapshot.heads.values()]
    page = " ".join(pieces)
    assert "<script" not in page
    assert "{{" in page
    assert "\u202e" not in page
    assert "\\u202e" in page
    assert Todo.objects.get().title == HOSTILE
