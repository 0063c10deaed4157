"""The two lease counters and the dead letters equal the ledger, cause by cause."""

import pytest
from django.db import connection, transaction
from django.db.models import Sum

from settings_app.models import Setting
from todos import doctor, endpoints, reaper, transitions
from todos.models import Counter, Endpoint, Todo

pytestmark = pytest.mark.django_db(transaction=True)


def claimed(endpoint: Endpoint, *, queue: str = "inbox", max_attempts: int = 5) -> Todo:
    todo, _ = transitions.create(endpoint, queue=queue, title="work", max_attempts=max_attempts)
    return transitions.claim(endpoint, todo.pk, owner="ada").todo


def waiting(endpoint: Endpoint, *, queue: str = "inbox", max_attempts: int = 5) -> Todo:
    todo = claimed(endpoint, queue=queue, max_attempts=max_attempts)
    return transitions.interrupt(endpoint, todo.pk, owner="ada", state="input-required")


def age_everything() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE todos SET lease_expires_at = lease_expires_at - interval '2 days',"
            " interrupted_at = interrupted_at - interval '2 days'"
        )


def counters() -> dict[tuple[str, str, str], int]:
    rows = Counter.objects.values_list("name", "queue", "cause").annotate(Sum("value"))
    return {(name, queue, cause): value for name, queue, cause, value in rows}


def test_a_reaped_lease_counts_one_lapse(endpoint: Endpoint) -> None:
    claimed(endpoint)
    age_everything()
    assert reaper.reap_expired() == 1
    assert counters() == {("leases_expired", "inbox", ""): 1}
    assert not list(doctor.examine())


def test_a_takeover_counts_one_lapse(endpoint: Endpoint) -> None:
    todo = claimed(endpoint)
    age_everything()
    transitions.claim_next(endpoint, None, owner="bob")
    age_everything()
    transitions.claim(endpoint, todo.pk, owner="eve")
    assert counters() == {("leases_expired", "inbox", ""): 2}
    assert not list(doctor.examine())


def test_a_reclaimed_wait_counts_a_lapse_and_its_cause_one_for_one(endpoint: Endpoint) -> None:
    waiting(endpoint)
    waiting(endpoint, queue="reviews")
    age_everything()
    assert reaper.reap_expired() == 2
    assert counters() == {
        ("leases_expired", "inbox", ""): 1,
        ("leases_expired", "reviews", ""): 1,
        ("interrupt_leases_reclaimed", "inbox", ""): 1,
        ("interrupt_leases_reclaimed", "reviews", ""): 1,
    }
    assert not list(doctor.examine())


def test_reclaim_now_counts_in_both(endpoint: Endpoint) -> None:
    reaper.reclaim_now(waiting(endpoint).pk)
    assert counters() == {
        ("leases_expired", "inbox", ""): 1,
        ("interrupt_leases_reclaimed", "inbox", ""): 1,
    }


def test_dead_letters_count_by_cause(endpoint: Endpoint) -> None:
    failed = claimed(endpoint, max_attempts=1)
    transitions.fail(endpoint, failed.pk, owner="ada")
    claimed(endpoint, max_attempts=1)
    waiting(endpoint, max_attempts=1)
    age_everything()
    reaper.reap_expired()
    transitions.create(endpoint, queue="inbox", title="left over")
    endpoints.revoke(endpoint)
    assert {key[2]: value for key, value in counters().items() if key[0] == "dead_lettered"} == {
        "failed": 1,
        "lease_expired": 1,
        "interrupt_expired": 1,
        "endpoint_revoked": 1,
    }
    assert counters()["leases_expired", "inbox", ""] == 2
    assert not list(doctor.examine())


def test_an_expired_endpoint_has_a_cause_of_its_own(endpoint: Endpoint) -> None:
    transitions.create(endpoint, queue="inbox", title="work")
    Endpoint.objects.filter(pk=endpoint.pk).update(expires_at="2020-01-01T00:00:00Z")
    assert reaper.tick().revoked == 1
    assert counters() == {("dead_lettered", "inbox", "endpoint_expired"): 1}


def test_a_parked_retry_and_a_completion_are_no_dead_letters(endpoint: Endpoint) -> None:
    transitions.fail(endpoint, claimed(endpoint).pk, owner="ada")
    transitions.complete(endpoint, claimed(endpoint).pk, owner="ada")
    assert counters() == {}


def test_what_is_rolled_back_was_not_counted(endpoint: Endpoint) -> None:
    waiting(endpoint)
    age_everything()
    with transaction.atomic():
        assert reaper.reap_expired() == 1
        transaction.set_rollback(True)
    assert counters() == {}
    assert not list(doctor.examine())


def test_pruned_attempts_stay_counted(endpoint: Endpoint) -> None:
    Setting.objects.create(key="attempt_history_max_per_todo", value="5")
    todo = claimed(endpoint, max_attempts=100)
    for _ in range(9):
        age_everything()
        transitions.claim(endpoint, todo.pk, owner="ada")
    assert counters() == {("leases_expired", "inbox", ""): 9}
    assert todo.attempts.count() == 5
    assert not list(doctor.examine())


def test_doctor_names_a_counter_that_is_off(endpoint: Endpoint) -> None:
    reaper.reclaim_now(waiting(endpoint).pk)
    Counter.objects.filter(name="interrupt_leases_reclaimed").update(value=2)
    (violation,) = doctor.examine()
    assert str(violation) == (
        "counters: queue inbox has counter interrupt_leases_reclaimed at 2 and 1 in the ledger"
    )


def test_a_tick_adds_the_rows_of_a_counter_up(endpoint: Endpoint) -> None:
    for _ in range(3):
        reaper.reclaim_now(waiting(endpoint).pk)
    before = counters()
    assert Counter.objects.count() == 6
    assert reaper.tick().good
    assert Counter.objects.count() == 2
    assert counters() == before
    assert not list(doctor.examine())
