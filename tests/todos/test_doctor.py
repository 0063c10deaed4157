"""`doctor` finds each broken invariant, names the row, and leaves it as it is."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from todos import doctor, endpoints, transitions
from todos.models import Endpoint, Todo

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def endpoint() -> Endpoint:
    return endpoints.vend(name="desk", queues=["inbox"])[0]


def make(endpoint: Endpoint, state: str) -> Todo:
    todo, _ = transitions.create(endpoint, queue="inbox", title="work")
    if state != "pending":
        todo = transitions.claim(endpoint, todo.pk, owner="ada").todo
    if state == "input-required":
        todo = transitions.interrupt(endpoint, todo.pk, owner="ada", state=state)
    if state == "done":
        todo = transitions.complete(endpoint, todo.pk, owner="ada")
    return todo


def break_by_sql(statement: str, todo: Todo) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"id": todo.pk})


def findings() -> set[tuple[str, str]]:
    return {(violation.check, violation.todo_id) for violation in doctor.examine()}


def test_a_database_that_only_transitions_wrote_is_healthy(endpoint: Endpoint) -> None:
    for state in ("pending", "claimed", "input-required", "done"):
        make(endpoint, state)
    out = StringIO()
    call_command("doctor", stdout=out)
    assert out.getvalue() == f"healthy: {len(doctor.CHECKS)} checks found nothing\n"


@pytest.mark.parametrize(
    ("state", "statement", "expected"),
    [
        (
            "done",
            (
                "UPDATE todo_attempts SET ended_at = NULL, outcome = NULL, disposition = NULL,"
                " ended_from = NULL WHERE todo_id = %(id)s"
            ),
            {"open_attempt"},
        ),
        (
            "claimed",
            (
                "UPDATE todo_attempts SET ended_at = now(), outcome = 'released',"
                " disposition = 'requeued', ended_from = 'claimed' WHERE todo_id = %(id)s"
            ),
            {"open_attempt"},
        ),
        (
            "input-required",
            (
                "UPDATE todos SET state = 'pending', owner = NULL, lease_expires_at = NULL,"
                " interrupted_at = NULL WHERE id = %(id)s"
            ),
            {"open_attempt"},
        ),
        ("claimed", "UPDATE todos SET owner = NULL WHERE id = %(id)s", {"holder"}),
        ("claimed", "UPDATE todos SET lease_expires_at = NULL WHERE id = %(id)s", {"holder"}),
        ("pending", "UPDATE todos SET owner = 'ghost' WHERE id = %(id)s", {"holder"}),
        ("done", "UPDATE todos SET lease_expires_at = now() WHERE id = %(id)s", {"holder"}),
        (
            "input-required",
            "UPDATE todos SET interrupted_at = NULL WHERE id = %(id)s",
            {"wait_stamp"},
        ),
        ("claimed", "UPDATE todos SET interrupted_at = now() WHERE id = %(id)s", {"wait_stamp"}),
        (
            "done",
            "UPDATE todos SET attempts_total = attempts_total + 1 WHERE id = %(id)s",
            {"attempts_total"},
        ),
        (
            "done",
            "UPDATE todos SET attempts_pruned = attempts_pruned + 1 WHERE id = %(id)s",
            {"attempts_total"},
        ),
        ("done", "DELETE FROM todo_attempts WHERE todo_id = %(id)s", {"attempts_total"}),
        (
            "pending",
            (
                "UPDATE endpoints SET revoked_at = now(), revocation_finished_at = now()"
                " WHERE id = (SELECT endpoint_id FROM todos WHERE id = %(id)s)"
            ),
            {"revoked_endpoint"},
        ),
        (
            "done",
            "UPDATE todo_attempts SET outcome = NULL WHERE todo_id = %(id)s",
            {"ledger_entry"},
        ),
        (
            "claimed",
            "UPDATE todo_attempts SET outcome = 'completed' WHERE todo_id = %(id)s",
            {"ledger_entry"},
        ),
        (
            "claimed",
            "UPDATE todo_attempts SET seq = 7 WHERE todo_id = %(id)s",
            {"ledger_entry"},
        ),
    ],
)
def test_each_broken_invariant_is_named_with_its_row(
    endpoint: Endpoint, state: str, statement: str, expected: set[str]
) -> None:
    broken = make(endpoint, state)
    if expected != {"revoked_endpoint"}:
        make(endpoint, state)  # a healthy neighbour is not named
    break_by_sql(statement, broken)
    assert findings() == {(check, broken.pk) for check in expected}


def test_a_violation_is_printed_with_its_row_and_fails_the_command(endpoint: Endpoint) -> None:
    todo = make(endpoint, "pending")
    break_by_sql("UPDATE todos SET owner = 'ghost' WHERE id = %(id)s", todo)
    out = StringIO()
    with pytest.raises(CommandError, match="1 violation"):
        call_command("doctor", stdout=out)
    assert out.getvalue() == (
        f"holder: {todo.pk} is pending with owner ghost and lease_expires_at NULL\n"
    )


def test_the_examination_cannot_write(endpoint: Endpoint) -> None:
    make(endpoint, "pending")
    break_by_sql("UPDATE todos SET owner = 'ghost'", make(endpoint, "pending"))
    examination = doctor.examine()
    next(examination)
    with connection.cursor() as cursor:
        cursor.execute("SHOW transaction_read_only")
        assert cursor.fetchone() == ("on",)
        cursor.execute("SHOW transaction_isolation")
        assert cursor.fetchone() == ("repeatable read",)
    examination.close()


def test_every_check_says_in_its_file_what_must_hold() -> None:
    from todos.sql import HERE

    for check in doctor.CHECKS:
        first = (HERE / "doctor" / f"{check}.sql").read_text().splitlines()[0]
        assert first.startswith(("-- Invariant", "-- The ledger")), check
