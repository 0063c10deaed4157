"""Where a list exists twice, in Python and in the database, the two are compared."""

import re

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction

from tests.factories import make_pending
from tests.todos.seen import rows
from todos import sql
from todos.models import Attempt, Todo
from todos.states import (
    DEAD,
    DIED,
    HELD_STATES,
    INTERRUPT_STATES,
    LIVE,
    PARKED,
    TRANSITIONS,
    Disposition,
    Outcome,
    State,
)

pytestmark = pytest.mark.django_db


def definition(constraint: str) -> str:
    (found,) = rows(
        "SELECT pg_get_constraintdef(oid) AS text FROM pg_constraint WHERE conname = %s",
        [constraint],
    )
    return str(found["text"])


def predicate(index: str) -> str:
    (found,) = rows(
        "SELECT pg_get_expr(indpred, indrelid) AS text FROM pg_index"
        " WHERE indexrelid = %s::regclass",
        [index],
    )
    return str(found["text"])


def test_the_states_in_python_are_those_of_the_check_constraint() -> None:
    in_database = re.findall(r"'([^']+)'::", definition("todos_state_known"))
    assert sorted(in_database) == sorted(State.values)
    assert len(State.values) == 8


@pytest.mark.parametrize("state", ["", "Pending", "input_required", "failed, parked", "queued"])
def test_the_database_refuses_any_other_state(state: str) -> None:
    todo = make_pending()
    with pytest.raises(IntegrityError, match="todos_state_known"), transaction.atomic():
        Todo.objects.filter(pk=todo.pk).update(state=state)


@pytest.mark.parametrize("state", State.values)
def test_every_state_fits_into_its_columns(state: str) -> None:
    assert len(state) <= (Todo._meta.get_field("state").max_length or 0)
    assert len(state) <= (Attempt._meta.get_field("ended_from").max_length or 0)


CONDITIONS = """
SELECT t.state, t.next_retry_at IS NOT NULL AS parked, ({condition}) AS holds
FROM unnest(%s::text[]) s (name)
CROSS JOIN (VALUES (NULL), (statement_timestamp())) n (stamp)
CROSS JOIN LATERAL (
    SELECT %s, s.name, n.stamp, 'key'
) t (id, state, next_retry_at, idempotency_key)
"""


def truth_table(condition: str, todo_id: str = "td_x") -> dict[tuple[str, bool], bool]:
    found = rows(CONDITIONS.format(condition=condition), [State.values, todo_id])
    return {(row["state"], row["parked"]): row["holds"] for row in found}


def in_python() -> dict[tuple[str, bool], bool]:
    table = {}
    for state in State.values:
        for parked in (False, True):
            condition = (PARKED if parked else DEAD) if state == State.FAILED else state
            table[state, parked] = condition in LIVE
    return table


def test_live_means_the_same_in_sql_in_the_indexes_and_in_python() -> None:
    tables = [
        truth_table(sql.statement("fragments/live")),
        truth_table(predicate("todos_live_idx")),
        truth_table(predicate("todos_live_key_unique")),
        in_python(),
    ]
    assert len(tables[0]) == 16
    assert sum(tables[0].values()) == 9
    assert all(table == tables[0] for table in tables)


@pytest.mark.parametrize(
    ("index", "states"),
    [
        ("todos_pending_idx", {"pending"}),
        ("todos_lease_idx", {"claimed"}),
        ("todos_interrupted_idx", {"input-required", "auth-required"}),
        ("todos_retry_idx", {"failed"}),
        # A claim and a heartbeat write neither of these.
        ("todos_unclaimed_queue_idx", set(State.values) - {"claimed"}),
        ("todos_unclaimed_title_idx", set(State.values) - {"claimed"}),
    ],
)
def test_each_partial_index_holds_the_states_that_it_is_for(index: str, states: set[str]) -> None:
    held = {
        (state, parked) for (state, parked), holds in truth_table(predicate(index)).items() if holds
    }
    assert {state for state, _ in held} == states
    if index == "todos_retry_idx":
        assert held == {("failed", True)}


def test_unclaimed_means_the_same_in_the_lists_and_in_the_indexes() -> None:
    in_lists = truth_table(sql.statement("fragments/unclaimed"))
    assert sum(in_lists.values()) == 14
    for index in ("todos_unclaimed_queue_idx", "todos_unclaimed_title_idx"):
        assert truth_table(predicate(index)) == in_lists


@pytest.mark.parametrize(
    "index",
    [
        "todos_live_idx",
        "todos_state_idx",
        "todos_unclaimed_queue_idx",
        "todos_unclaimed_title_idx",
    ],
)
def test_an_index_that_is_not_for_claims_asks_for_words_that_no_claim_says(index: str) -> None:
    assert not any(truth_table(predicate(index), todo_id="").values())


def test_the_index_of_the_waits_is_on_their_own_clock() -> None:
    (index,) = rows(
        "SELECT pg_get_indexdef('todos_interrupted_idx'::regclass) AS text,"
        " indisvalid FROM pg_index WHERE indexrelid = 'todos_interrupted_idx'::regclass"
    )
    assert "(interrupted_at)" in index["text"]
    assert index["indisvalid"]


@pytest.mark.parametrize("model", list(apps.get_app_config("todos").get_models()))
def test_the_tables_have_the_columns_of_the_models(model: type[Todo]) -> None:
    found = rows(
        "SELECT column_name AS name, is_nullable = 'YES' AS nullable"
        " FROM information_schema.columns WHERE table_name = %s",
        [model._meta.db_table],
    )
    in_database = {column["name"]: column["nullable"] for column in found}
    assert in_database == {field.column: field.null for field in model._meta.concrete_fields}


def test_the_contracts_tables_are_there() -> None:
    names = {"endpoints", "todos", "todo_attempts", "settings"}
    assert names <= set(connection.introspection.table_names())


def test_a_row_written_by_sql_needs_no_more_than_what_has_no_default() -> None:
    endpoint = make_pending().endpoint
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO todos (id, endpoint_id, queue, title) VALUES ('td_x', %s, 'inbox', 'x')",
            [endpoint.pk],
        )
    by_hand, by_api = Todo.objects.get(pk="td_x"), Todo.objects.exclude(pk="td_x").get()
    for field in Todo._meta.concrete_fields:
        if field.attname not in ("id", "title", "created_at", "updated_at"):
            assert getattr(by_hand, field.attname) == getattr(by_api, field.attname), field


def test_at_most_one_attempt_of_a_todo_is_open_and_no_number_is_used_twice() -> None:
    todo = make_pending()
    attempt = (
        "INSERT INTO todo_attempts (todo_id, seq, attempt, claimer_kind, owner, lease_expires_at)"
        " VALUES (%s, %s, 1, 'owner', 'joe', statement_timestamp())"
    )
    for seq, refusal in ((1, None), (2, "todo_attempts_open_unique"), (1, "todo_attempts")):
        with connection.cursor() as cursor:
            if refusal is None:
                cursor.execute(attempt, [todo.pk, seq])
                continue
            with pytest.raises(IntegrityError, match=refusal), transaction.atomic():
                cursor.execute(attempt, [todo.pk, seq])
    Attempt.objects.update(ended_at=todo.created_at)
    with pytest.raises(IntegrityError, match="todo_attempts_seq_unique"), transaction.atomic():
        Attempt.objects.create(
            todo=todo, seq=1, attempt=1, owner="joe", lease_expires_at=todo.created_at
        )


def test_the_words_of_the_ledger_are_those_of_the_domain() -> None:
    assert set(Outcome.values) == {
        "completed",
        "failed",
        "released",
        "canceled",
        "revoked",
        "lease_expired",
        "reaped",
    }
    assert set(Disposition.values) == {
        "done",
        "retry_scheduled",
        "dead_lettered",
        "requeued",
        "canceled",
    }
    assert set(DIED) == {"lease_expired", "reaped"}
    used = {word for name in sql_texts() for word in re.findall(r"outcome = '(\w+)'", name)}
    assert used == set(Outcome.values)


def sql_texts() -> list[str]:
    return [path.read_text() for path in sql.HERE.rglob("*.sql")]


def test_groups_of_states_fit_together() -> None:
    assert set(HELD_STATES) == {"claimed", *INTERRUPT_STATES}
    ends = {target for row in TRANSITIONS.values() for target in row.targets}
    assert ends == {*LIVE, DEAD, "done", "canceled", "rejected"}
