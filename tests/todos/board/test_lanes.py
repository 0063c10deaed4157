"""What the board reads: each todo in its lane, the most urgent first, and no more than a bound."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection

from settings_app.models import Setting
from tests.factories import (
    age,
    copies,
    make,
    make_claimed,
    make_dead_letter,
    make_done,
    make_endpoint,
    make_parked,
    make_pending,
    make_waiting,
)
from todos import endpoints, reaper
from todos.board import lanes
from todos.board.lanes import Filters, Lane
from todos.models import Todo
from todos.states import DEAD, PARKED, State

# Committed rows, for a look has a transaction of its own.
pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
LANE_OF = {
    State.PENDING: "pending",
    State.CLAIMED: "claimed",
    State.INPUT_REQUIRED: "waiting",
    State.AUTH_REQUIRED: "waiting",
    PARKED: "parked",
    DEAD: "dead",
    State.DONE: "done",
    State.CANCELED: None,
    State.REJECTED: None,
}


def look(**filters: object) -> dict[str, Lane]:
    state = lanes.read(Filters(**filters))  # type: ignore[arg-type]
    return {lane.kind.name: lane for lane in state.lanes}


def ids(lane: Lane) -> list[str]:
    return [card.id for card in lane.cards]


def test_every_todo_is_in_the_lane_of_its_condition() -> None:
    todos = {condition: make(condition) for condition in LANE_OF}
    found = {card.id: name for name, lane in look().items() for card in lane.cards}
    expected = {todos[c].pk: name for c, name in LANE_OF.items() if name is not None}
    assert found == expected
    assert [lane.total for lane in look().values()] == [1, 1, 2, 1, 1, 1]


def test_an_empty_board_has_all_its_lanes() -> None:
    assert [(lane.total, lane.cut, lane.oldest, lane.cards) for lane in look().values()] == [
        (0, False, None, ())
    ] * len(lanes.KINDS)


def test_the_most_urgent_is_first_in_each_lane() -> None:
    desk = make_endpoint()
    for made in (
        [make_pending(endpoint=desk), make_pending(endpoint=desk)],
        [make_claimed(endpoint=desk, lapsed_for=HOUR), make_claimed(endpoint=desk)],
        [make_waiting(endpoint=desk, age=2 * HOUR), make_waiting(endpoint=desk, age=HOUR)],
        [make_parked(endpoint=desk, due_in=-HOUR), make_parked(endpoint=desk, due_in=HOUR)],
        [make_dead_letter(endpoint=desk), age(make_dead_letter(endpoint=desk), completed_at=HOUR)],
        [make_done(endpoint=desk), age(make_done(endpoint=desk), completed_at=HOUR)],
    ):
        for filters in ({}, {"endpoint": desk.pk}):
            lane = next(lane for lane in look(**filters).values() if made[0].pk in ids(lane))
            assert ids(lane) == [todo.pk for todo in made], lane.kind


def test_the_age_is_that_of_the_oldest_whatever_comes_first() -> None:
    old = age(make_claimed(lease_ttl_seconds=80_000), claimed_at=10 * HOUR)
    make_claimed(lapsed_for=HOUR)
    dead = age(make_dead_letter(), completed_at=5 * HOUR)
    make_dead_letter()
    found = look()
    assert ids(found["claimed"])[1] == old.pk
    assert found["claimed"].oldest == old.claimed_at
    assert found["dead"].oldest == dead.completed_at


def test_done_is_what_was_done_in_the_last_24_hours() -> None:
    age(make_done(), completed_at=DAY + HOUR)
    recent = age(make_done(), completed_at=DAY - HOUR)
    assert ids(look()["done"]) == [recent.pk]


def test_a_lane_shows_50_and_says_how_many_more() -> None:
    todo = make_waiting()
    copies(todo, 119)
    lane = look()["waiting"]
    assert (lane.total, len(lane.cards), lane.more, lane.cut) == (120, 50, 70, False)


def test_a_lane_is_counted_no_further_than_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "COUNTED", 100)
    todo = make_waiting()
    copies(todo, 99)
    assert (look()["waiting"].total, look()["waiting"].cut) == (100, False)
    copies(todo, 1)
    assert (look()["waiting"].total, look()["waiting"].cut) == (100, True)


def test_the_filters_narrow_every_lane() -> None:
    desk, other = make_endpoint(), make_endpoint()
    mine = [make(c, endpoint=desk, queue="reviews") for c, lane in LANE_OF.items() if lane]
    for c in LANE_OF:
        make(c, endpoint=other, queue="inbox")
    for filters in (
        {"endpoint": desk.pk},
        {"queue": "reviews"},
        {"endpoint": desk.pk, "queue": "reviews"},
    ):
        found = {card.id for lane in look(**filters).values() for card in lane.cards}
        assert found == {todo.pk for todo in mine}, filters
    for nothing in ({"endpoint": uuid4()}, {"queue": "none"}):
        assert not any(lane.cards for lane in look(**nothing).values())


def test_pending_todos_of_a_rare_queue_are_found_behind_any_backlog(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lanes, "LOOKED_THROUGH", 20)
    desk = make_endpoint()
    copies(make_pending(endpoint=desk), 60)
    rare = make_pending(endpoint=desk, queue="reviews", assignee="ada")
    lane = look(queue="reviews")["pending"]
    assert (ids(lane), lane.total, lane.cut) == ([rare.pk], 1, False)


def test_a_lane_that_was_not_looked_through_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "LOOKED_THROUGH", 20)
    first = make_waiting(age=HOUR)
    copies(first, 30)
    make_waiting(queue="reviews")
    lane = look(queue="reviews")["waiting"]
    assert (lane.total, lane.cut) == (0, True)


def test_reclaims_are_told_with_how_long_was_waited() -> None:
    todo = make_waiting(age=25 * HOUR, attempt=2)
    make_claimed(lapsed_for=HOUR)
    reaper.tick()
    (reclaim,) = lanes.read(Filters()).reclaims
    assert reclaim.todo_id == todo.pk
    assert (reclaim.attempt, reclaim.max_attempts, reclaim.dead_lettered) == (2, 5, False)
    assert reclaim.waited_since == todo.interrupted_at
    assert reclaim.ended_at == Todo.objects.get(pk=todo.pk).updated_at


def test_reclaims_are_the_latest_first_within_the_filter() -> None:
    desk = make_endpoint()
    first, second = make_waiting(endpoint=desk), make_waiting(endpoint=desk, max_attempts=1)
    make_waiting(queue="reviews")
    for todo in Todo.objects.order_by("pk"):
        reaper.reclaim_now(todo.pk)
    found = lanes.read(Filters(endpoint=desk.pk)).reclaims
    assert [(r.todo_id, r.dead_lettered) for r in found] == [(second.pk, True), (first.pk, False)]
    assert len(lanes.read(Filters()).reclaims) == 3
    assert len(lanes.read(Filters(queue="reviews")).reclaims) == 1


def test_a_reclaim_of_a_day_ago_is_no_news() -> None:
    todo = make_waiting()
    reaper.reclaim_now(todo.pk)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE todo_attempts SET ended_at = ended_at - interval '25 hours'")
    assert not lanes.read(Filters()).reclaims


def test_the_ttl_is_that_of_the_setting() -> None:
    assert lanes.read(Filters()).ttl == DAY
    Setting.objects.create(key="interrupt_lease_ttl_seconds", value="0")
    assert lanes.read(Filters()).ttl is None


def test_a_card_says_whether_its_endpoint_has_ended() -> None:
    todo = make_pending()
    assert look()["pending"].cards[0].endpoint_is_active
    endpoint = todo.endpoint
    type(endpoint).objects.filter(pk=endpoint.pk).update(expires_at=endpoint.created_at)
    assert not look()["pending"].cards[0].endpoint_is_active
    endpoints.finish_revocations(lambda: False)
    assert look()["dead"].cards[0].id == todo.pk


def test_a_look_is_one_moment_and_writes_nothing() -> None:
    """A todo that moves while the lanes are read is in one of them."""
    todo = make_pending()
    seen: list[str] = []

    def claim_in_between(execute: object, sql: str, params: object, *rest: object) -> object:
        rows = execute(sql, params, *rest)  # type: ignore[operator]
        if "'pending'" in sql and not seen:
            seen.append(sql)
            _claim_elsewhere(todo)
        return rows

    with connection.execute_wrapper(claim_in_between):
        found = [card.id for lane in look().values() for card in lane.cards]
    assert seen
    assert found == [todo.pk]
    assert ids(look()["claimed"]) == [todo.pk]


def _claim_elsewhere(todo: Todo) -> None:
    import psycopg

    from tests.processes.programs import database_url

    with psycopg.connect(database_url()) as session:
        session.execute(
            "UPDATE todos SET state = 'claimed', owner = 'ada', claimed_at = now(),"
            " lease_expires_at = now() WHERE id = %s",
            [todo.pk],
        )
