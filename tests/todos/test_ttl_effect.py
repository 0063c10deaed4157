"""What another interrupt TTL would do, told beforehand: what a tick at that moment does."""

from collections import Counter
from datetime import timedelta
from itertools import pairwise

import pytest
from django.db import connection, transaction

from settings_app.models import Setting
from settings_app.registry import INTERRUPT_LEASE_TTL
from tests.factories import age, copies, make_claimed, make_endpoint, make_waiting
from todos import endpoints, reaper, ttl_effect
from todos.models import Attempt, Endpoint, Todo
from todos.states import State

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
DAY = "86400"


@pytest.fixture
def desk() -> Endpoint:
    return make_endpoint()


def store(value: str | None) -> None:
    Setting.objects.all().delete()
    if value is not None:
        Setting.objects.create(key=INTERRUPT_LEASE_TTL.key, value=value)


def tell(after: str | None, *, before: str | None = None) -> str:
    return ttl_effect.foresee(before, after).summary


def test_the_sentence_says_how_many_and_where_they_go(desk: Endpoint) -> None:
    for number in range(4):
        make_waiting(endpoint=desk, age=(20 + number) * HOUR, max_attempts=1 if number else 5)
    make_waiting(endpoint=desk, age=25 * HOUR)
    make_waiting(endpoint=desk, age=HOUR / 2)
    assert tell("3600") == (
        "5 waits become due at the next tick (1 of them is due already): "
        "2 go back to pending, 3 become dead letters."
    )


def test_one_of_each_is_told_in_the_singular(desk: Endpoint) -> None:
    make_waiting(endpoint=desk, age=2 * HOUR)
    assert tell("3600") == "1 wait becomes due at the next tick: 1 goes back to pending."
    assert tell("3600", before="3600") == (
        "1 wait is due at the next tick: 1 goes back to pending."
    )
    Todo.objects.update(max_attempts=1)
    assert tell("3600").endswith(": 1 becomes a dead letter.")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (None, None, "1 wait is due at the next tick: 1 goes back to pending."),
        (None, DAY, "1 wait is due at the next tick: 1 goes back to pending."),
        (None, "24h", "1 wait is due at the next tick: 1 goes back to pending."),
        (
            None,
            "80000",
            "1 wait is due at the next tick already, whatever is saved: 1 goes back to pending.",
        ),
        (
            None,
            "172800",
            "No wait is due at the next tick; 2 waits go on. 1 wait that is due now is due no "
            "longer, unless a tick comes before the save.",
        ),
        (
            None,
            "0",
            "2 waits have no deadline any more. 1 wait that is due now is due no longer, unless a "
            "tick comes before the save.",
        ),
        ("0", "-1", "2 waits have no deadline."),
        ("0", "9" * 30, "2 waits have no deadline."),
        (
            "0",
            None,
            "1 wait becomes due at the next tick: 1 goes back to pending. 1 wait gets a deadline "
            "that is still to come.",
        ),
        ("0", "172800", "No wait is due at the next tick; 2 waits go on. 2 waits get a deadline"),
    ],
)
def test_every_kind_of_change_is_told(
    before: str | None, after: str | None, words: str, desk: Endpoint
) -> None:
    make_waiting(endpoint=desk, age=25 * HOUR)
    make_waiting(endpoint=desk, age=HOUR)
    assert tell(after, before=before).startswith(words)


def test_nothing_waits() -> None:
    make_claimed()
    effect = ttl_effect.foresee(None, "60")
    assert effect.summary == "Nothing waits now."
    assert effect.oldest_in_words == ""
    assert effect.queues == []


def test_what_is_in_effect_is_said_of_odd_values() -> None:
    assert ttl_effect.foresee(None, "3600").words == "3600 s (1 h)"
    assert ttl_effect.foresee(None, "45").words == "45 → raised to 60 s (1 min)"
    assert ttl_effect.foresee(None, "-3").words == "-3 → the sweep is off"
    assert ttl_effect.foresee(None, "3155760001").words.endswith("never, no wait is ever reclaimed")
    assert ttl_effect.foresee("0", None).words == "86400 s (24 h), the default"


def test_a_value_below_the_floor_counts_as_the_floor(desk: Endpoint) -> None:
    make_waiting(endpoint=desk, age=timedelta(seconds=50))
    make_waiting(endpoint=desk, age=timedelta(seconds=70))
    assert tell("1").startswith("1 wait becomes due")


@pytest.mark.parametrize("after", ["60", "3600", "7200", None, "0"])
def test_the_counts_are_what_the_next_tick_does(after: str | None) -> None:
    """Preview, save, tick, compare: per queue, and nothing else is touched."""
    one, other, gone, ended = (make_endpoint() for _ in range(4))
    for hours in (0, 1, 3, 23, 25, 48):
        for queue, cap in (("inbox", 5), ("inbox", 1), ("reviews", 5)):
            for desk in (one, other, gone, ended):
                make_waiting(
                    endpoint=desk,
                    queue=queue,
                    max_attempts=cap,
                    age=hours * HOUR + timedelta(minutes=5),
                    state=State.AUTH_REQUIRED if hours == 3 else State.INPUT_REQUIRED,
                )
    bare = make_waiting(endpoint=one, queue="reviews")
    age(bare, updated_at=30 * HOUR)
    Todo.objects.filter(pk=bare.pk).update(interrupted_at=None)
    endpoints.revoke(gone)
    Endpoint.objects.filter(pk=ended.pk).update(expires_at="2020-01-01T00:00:00Z")

    told = ttl_effect.foresee(None, after)
    store(after)
    reaper.reap_expired()

    done: Counter[tuple[str, str]] = Counter()
    for attempt in Attempt.objects.filter(outcome="reaped").select_related("todo"):
        done[attempt.todo.queue, str(attempt.disposition)] += 1
    foretold = Counter[tuple[str, str]]()
    for share in told.queues:
        foretold[share.queue, "requeued"] = share.requeued
        foretold[share.queue, "dead_lettered"] = share.dead_lettered
    assert +foretold == done
    assert told.total.due == sum(done.values())
    assert told.waits.exempt == 18
    again = ttl_effect.foresee(after, after).total
    assert (again.due, again.waits) == (0, 37 - told.total.due)


def test_waits_of_inactive_endpoints_are_counted_apart() -> None:
    expired = make_waiting(age=48 * HOUR).endpoint
    Endpoint.objects.filter(pk=expired.pk).update(expires_at="2020-01-01T00:00:00Z")
    mine = make_waiting(age=30 * HOUR)
    effect = ttl_effect.foresee(None, "60")
    assert (effect.total.waits, effect.waits.exempt) == (1, 1)
    assert effect.waits.oldest is not None
    assert effect.waits.oldest.id == mine.pk
    assert sum(ages.waits for ages in effect.ages) == 1


@pytest.mark.parametrize("stamped", [True, False])
def test_the_oldest_is_named_with_its_queue_and_holder(stamped: bool, desk: Endpoint) -> None:
    oldest = make_waiting(endpoint=desk, queue="reviews", owner="grace", age=22 * HOUR)
    make_waiting(endpoint=desk, age=21 * HOUR)
    if not stamped:
        age(oldest, updated_at=22 * HOUR)
        Todo.objects.filter(pk=oldest.pk).update(interrupted_at=None)
    words = ttl_effect.foresee(None, "3600").oldest_in_words
    assert words.startswith("Oldest: 22 h")
    assert words.endswith(", queue reviews, holder grace.")


def test_the_oldest_is_nobodys_whose_endpoint_ended_at_the_same_moment() -> None:
    before, mine, behind = (make_waiting(age=22 * HOUR) for _ in range(3))
    ended = Endpoint.objects.filter(pk__in=[before.endpoint_id, behind.endpoint_id])
    ended.update(expires_at="2020-01-01T00:00:00Z")
    Todo.objects.update(interrupted_at=mine.created_at - 22 * HOUR)
    oldest = ttl_effect.foresee(None, "3600").waits.oldest
    assert oldest is not None
    assert oldest.id == mine.pk


def test_hostile_names_stay_on_one_line_and_are_cut(desk: Endpoint) -> None:
    make_waiting(endpoint=desk, owner="\u202e\u2028" + "x" * 190, age=22 * HOUR)
    words = ttl_effect.foresee(None, "3600").oldest_in_words
    assert "\u202e" not in words
    assert len(words.splitlines()) == 1
    assert len(words) < 120


def test_both_deadlines_are_edges_of_the_ages(desk: Endpoint) -> None:
    for minutes in (1, 59, 61, 80, 100):
        make_waiting(endpoint=desk, age=timedelta(minutes=minutes, seconds=5))
    ages = ttl_effect.foresee("4000", "5000").ages
    found = [(a.start, a.end, a.waits) for a in ages if a.waits]
    assert found == [
        (60, 300, 1),
        (900, 3600, 1),
        (3600, 4000, 1),
        (4000, 5000, 1),
        (5000, 10_800, 1),
    ]
    assert ages[0].start == 0
    assert ages[-1].end is None
    assert all(left.end == right.start for left, right in pairwise(ages))


def test_the_most_affected_queues_come_first(desk: Endpoint) -> None:
    copies(make_waiting(endpoint=desk, queue="inbox", age=HOUR / 2), 5)
    copies(make_waiting(endpoint=desk, queue="reviews", age=2 * HOUR), 2)
    assert [share.queue for share in ttl_effect.foresee(None, "3600").queues] == [
        "reviews",
        "inbox",
    ]


def test_it_goes_by_the_clock_of_the_statement(desk: Endpoint) -> None:
    """Not by the transaction's, which stands still in a page that saves."""
    make_waiting(endpoint=desk, age=timedelta(seconds=3_599.9))
    with transaction.atomic():
        assert ttl_effect.foresee(None, "3600").total.added in (0, 1)
        age(Todo.objects.get(), interrupted_at=timedelta(seconds=0.2))
        assert ttl_effect.foresee(None, "3600").total.added == 1


def test_it_writes_and_locks_nothing(desk: Endpoint) -> None:
    make_waiting(endpoint=desk, age=25 * HOUR)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        assert ttl_effect.foresee(None, "60").total.due == 1
