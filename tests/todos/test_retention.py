"""Retention: what has ended goes as the three settings say, and the ledger's sums stay exact."""

from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from settings_app.models import Setting
from todos import doctor, endpoints, reaper, retention, transitions
from todos.models import Attempt, AttemptTally, Endpoint, Todo

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def endpoint() -> Endpoint:
    return endpoints.vend(name="desk", queues=["inbox"])[0]


def put(key: str, value: str) -> None:
    Setting.objects.update_or_create(key=key, defaults={"value": value})


def ended(endpoint: Endpoint, state: str = "done", *, days: float = 0) -> Todo:
    attempts = 1 if state == "dead" else 5
    todo, _ = transitions.create(endpoint, queue="inbox", title="work", max_attempts=attempts)
    if state == "rejected":
        transitions.reject(endpoint, todo.pk)
    elif state == "canceled":
        transitions.cancel(endpoint, todo.pk)
    else:
        transitions.claim(endpoint, todo.pk, owner="ada")
        finish = transitions.complete if state == "done" else transitions.fail
        finish(endpoint, todo.pk, owner="ada")
    age(todo, days)
    return todo


def age(todo: Todo, days: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE todos SET completed_at = completed_at - make_interval(secs => %s),"
            " created_at = created_at - make_interval(secs => %s),"
            " interrupted_at = interrupted_at - make_interval(secs => %s),"
            " next_retry_at = next_retry_at - make_interval(secs => %s) WHERE id = %s",
            [days * 86_400] * 4 + [todo.pk],
        )


def kept() -> set[str]:
    return set(Todo.objects.values_list("pk", flat=True))


@pytest.mark.parametrize("state", ["done", "canceled", "rejected"])
def test_what_ended_more_than_thirty_days_ago_goes_with_its_attempts(
    endpoint: Endpoint, state: str
) -> None:
    ended(endpoint, state, days=30.01)
    young = ended(endpoint, state, days=29.99)
    result = retention.prune()
    assert (result.by_age, result.by_count, result.dead_letters, result.good) == (1, 0, 0, True)
    assert result.attempts == (1 if state == "done" else 0)
    assert kept() == {young.pk}
    assert not list(doctor.examine())


def test_the_attempts_that_go_are_tallied(endpoint: Endpoint) -> None:
    old = ended(endpoint, days=31)
    ended(endpoint, days=31)
    keeps, _ = transitions.create(endpoint, queue="inbox", title="work")
    transitions.claim(endpoint, keeps.pk, owner="ada")
    wait = transitions.interrupt(endpoint, keeps.pk, owner="ada", state="input-required")
    reaper.reclaim_now(wait.pk)
    transitions.claim(endpoint, wait.pk, owner="ada")
    transitions.complete(endpoint, wait.pk, owner="ada")
    age(wait, 31)
    assert retention.prune().attempts == 4
    assert not Attempt.objects.exists()
    rows = AttemptTally.objects.values_list("queue", "outcome", "ended_from", "count")
    assert set(rows) == {
        ("inbox", "completed", "claimed", 3),
        ("inbox", "reaped", "input-required", 1),
    }
    assert old.pk not in kept()
    assert not list(doctor.examine())


def test_dead_letters_stay_a_year(endpoint: Endpoint) -> None:
    ended(endpoint, "dead", days=365.1)
    young = ended(endpoint, "dead", days=364.9)
    assert retention.prune().dead_letters == 1
    assert kept() == {young.pk}


def test_live_todos_never_go_however_old_they_are(endpoint: Endpoint) -> None:
    for setting in ("retention_max_age_days", "retention_max_rows", "dead_letter_max_age_days"):
        put(setting, "1")
    pending, _ = transitions.create(endpoint, queue="inbox", title="pending")
    parked, _ = transitions.create(endpoint, queue="inbox", title="parked")
    transitions.claim(endpoint, parked.pk, owner="ada")
    transitions.fail(endpoint, parked.pk, owner="ada")
    waits = []
    for state in ("input-required", "auth-required"):
        todo, _ = transitions.create(endpoint, queue="inbox", title="wait")
        transitions.claim(endpoint, todo.pk, owner="ada")
        waits.append(transitions.interrupt(endpoint, todo.pk, owner="ada", state=state))
    for todo in (pending, parked, *waits):
        age(todo, 10_000)
    assert retention.prune().todos == 0
    assert len(kept()) == 4


def test_of_what_ended_only_the_newest_rows_stay(endpoint: Endpoint) -> None:
    put("retention_max_rows", "3")
    todos = [ended(endpoint, days=days) for days in (5, 1, 4, 2, 3)]
    dead = ended(endpoint, "dead", days=9)
    assert retention.prune().by_count == 2
    assert kept() == {todos[1].pk, todos[3].pk, todos[4].pk, dead.pk}
    assert retention.prune().todos == 0


@pytest.mark.parametrize("value", ["0", "-1", "9" * 40, "-" + "9" * 5000])
def test_not_positive_or_beyond_use_means_never(endpoint: Endpoint, value: str) -> None:
    for setting in ("retention_max_age_days", "retention_max_rows", "dead_letter_max_age_days"):
        put(setting, value)
    ended(endpoint, days=9_000)
    ended(endpoint, "dead", days=9_000)
    result = retention.prune()
    assert (result.todos, result.good) == (0, True)


def test_a_typo_in_a_setting_leaves_its_default_in_effect(endpoint: Endpoint) -> None:
    put("retention_max_age_days", "30 days")
    ended(endpoint, days=31)
    young = ended(endpoint, days=29)
    assert retention.prune().todos == 1
    assert kept() == {young.pk}


def test_more_than_one_batch_goes_in_one_run(endpoint: Endpoint) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO todos (id, endpoint_id, queue, title, state, completed_at)"
            " SELECT 'td_' || gen_random_uuid(), %s, 'inbox', 'old', 'done',"
            " now() - interval '31 days' FROM generate_series(1, 1203)",
            [endpoint.pk],
        )
    seen: list[int] = []
    assert retention.prune(progress=lambda result: seen.append(result.todos)).by_age == 1203
    assert seen[0] == 500
    assert sorted(seen) == seen
    assert not kept()


def test_the_command_says_what_went(endpoint: Endpoint) -> None:
    ended(endpoint, days=31)
    ended(endpoint, "dead", days=366)
    out = StringIO()
    call_command("prune", stdout=out)
    assert out.getvalue() == (
        "deleted 2 todos (1 by age, 0 by count, 1 dead letters) and 2 attempts\n"
    )
