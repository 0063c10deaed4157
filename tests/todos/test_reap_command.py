"""`manage.py reap`: one tick by hand, or what it would do."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import F

from settings_app.models import Setting
from todos import endpoints, reaper, transitions
from todos.models import Endpoint, Todo

pytestmark = pytest.mark.django_db(transaction=True)

HOURS_25 = "interval '25 hours'"


@pytest.fixture
def endpoint() -> Endpoint:
    return endpoints.vend(name="desk", queues=["inbox", "reviews"])[0]


def waiting_too_long(endpoint: Endpoint, queue: str, *, max_attempts: int = 5) -> Todo:
    todo, _ = transitions.create(endpoint, queue=queue, title="work", max_attempts=max_attempts)
    transitions.claim(endpoint, todo.pk, owner="ada")
    todo = transitions.interrupt(endpoint, todo.pk, owner="ada", state="input-required")
    age(todo, "interrupted_at")
    return todo


def age(todo: Todo, column: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE todos SET {column} = {column} - {HOURS_25} WHERE id = %s", [todo.pk]
        )


def reap(**options: object) -> list[str]:
    out = StringIO()
    call_command("reap", stdout=out, **options)
    return out.getvalue().splitlines()


def everything() -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT t::text FROM todos t UNION ALL SELECT a::text FROM todo_attempts a")
        return sorted(cursor.fetchall())


def test_a_dry_run_says_what_the_tick_would_do_and_does_nothing(endpoint: Endpoint) -> None:
    waiting_too_long(endpoint, "inbox")
    waiting_too_long(endpoint, "inbox")
    waiting_too_long(endpoint, "reviews", max_attempts=1)
    lapsed, _ = transitions.create(endpoint, queue="reviews", title="lapsed")
    transitions.claim(endpoint, lapsed.pk, owner="ada")
    age(lapsed, "lease_expires_at")
    parked, _ = transitions.create(endpoint, queue="inbox", title="parked")
    transitions.claim(endpoint, parked.pk, owner="ada")
    transitions.fail(endpoint, parked.pk, owner="ada")
    age(parked, "next_retry_at")
    ended, _ = endpoints.vend(name="ended", queues=["old"])
    transitions.create(ended, queue="old", title="orphan")
    Endpoint.objects.filter(pk=ended.pk).update(expires_at="2020-01-01T00:00:00Z")
    before = everything()

    assert reap(dry_run=True) == [
        "due retry\tqueue inbox\t→ pending\t1",
        "ended endpoint\tqueue old\t→ dead letter\t1",
        "lapsed lease\tqueue reviews\t→ pending\t1",
        "lapsed wait\tqueue inbox\t→ pending\t2",
        "lapsed wait\tqueue reviews\t→ dead letter\t1",
    ]
    assert everything() == before
    assert reap() == ["reaped 4, requeued 1 due retries, dead-lettered 1 of ended endpoints"]
    assert reap(dry_run=True) == ["nothing is due"]


def test_an_unstamped_wait_is_counted_as_the_tick_would_stamp_it(endpoint: Endpoint) -> None:
    todo = waiting_too_long(endpoint, "inbox")
    Todo.objects.filter(pk=todo.pk).update(interrupted_at=None)
    assert reap(dry_run=True) == ["nothing is due"]
    age(todo, "updated_at")
    assert reap(dry_run=True) == ["lapsed wait\tqueue inbox\t→ pending\t1"]
    assert reaper.reap_expired() == 1


def test_a_switched_off_sweep_would_take_no_wait(endpoint: Endpoint) -> None:
    waiting_too_long(endpoint, "inbox")
    Setting.objects.create(key="interrupt_lease_ttl_seconds", value="0")
    assert reap(dry_run=True) == [
        "waits have no deadline: interrupt_lease_ttl_seconds is off or never",
        "nothing is due",
    ]


@pytest.mark.parametrize("typed", ["3600", "3600s", "60m", "1h", 3600])
def test_a_dry_run_under_another_ttl_says_what_the_page_says(
    typed: object, endpoint: Endpoint
) -> None:
    waiting_too_long(endpoint, "inbox")
    recent = waiting_too_long(endpoint, "reviews", max_attempts=1)
    Todo.objects.filter(pk=recent.pk).update(
        interrupted_at=F("interrupted_at") + timedelta(hours=5)
    )
    before = everything()
    first, second, *rest = reap(dry_run=True, ttl=typed)
    assert first == (
        "With 3600 s (1 h): 2 waits become due at the next tick (1 of them is due already): "
        "1 goes back to pending, 1 becomes a dead letter."
    )
    assert second.startswith("Oldest: 25 h")
    assert second.endswith(", queue inbox, holder ada.")
    assert rest == [
        "lapsed wait\tqueue inbox\t→ pending\t1",
        "lapsed wait\tqueue reviews\t→ dead letter\t1",
    ]
    assert everything() == before


@pytest.mark.parametrize(
    ("ttl", "words"),
    [
        ("45", "With 45 → raised to 60 s (1 min): 1 wait is due at the next tick already"),
        ("0", "With 0 → the sweep is off: 1 wait has no deadline any more."),
        ("-5", "With -5 → the sweep is off: 1 wait has no deadline any more."),
        ("101d", "With 8726400 s (101 days): No wait is due at the next tick; 1 wait goes on."),
        ("99999999d", "never, no wait is ever reclaimed: 1 wait has no deadline any more."),
    ],
)
def test_a_dry_run_says_what_would_be_in_effect(ttl: str, words: str, endpoint: Endpoint) -> None:
    waiting_too_long(endpoint, "inbox")
    assert words in reap(dry_run=True, ttl=ttl)[0]


@pytest.mark.parametrize("ttl", ["", " ", "24 h", "1.5h", "one", "36H", "1h30m", "x" * 500])
def test_another_ttl_in_another_form_is_refused(ttl: str) -> None:
    with pytest.raises(CommandError, match="such as 45s, 90m, 36h or 2d") as refused:
        reap(dry_run=True, ttl=ttl)
    assert str(refused.value).startswith("--ttl: ")
    assert len(str(refused.value)) < 200


def test_a_tick_goes_by_no_other_ttl_than_the_settings(endpoint: Endpoint) -> None:
    waiting_too_long(endpoint, "inbox")
    with pytest.raises(CommandError, match="--ttl is only for --dry-run"):
        reap(ttl="3600")
    assert Todo.objects.get().state == "input-required"


def test_it_runs_however_recent_the_last_tick_was(endpoint: Endpoint) -> None:
    assert reaper.tick_if_due() is not None
    waiting_too_long(endpoint, "inbox")
    assert reaper.tick_if_due() is None
    assert reap() == ["reaped 1, requeued 0 due retries, dead-lettered 0 of ended endpoints"]


def test_a_tick_of_which_a_part_failed_fails_the_command(endpoint: Endpoint) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE settings RENAME TO settings_away")
    try:
        with pytest.raises(CommandError, match="a part of the tick failed"):
            reap()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE settings_away RENAME TO settings")
