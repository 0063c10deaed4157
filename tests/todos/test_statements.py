"""The files in todos/sql: what their headers promise, and what no statement may do."""

import re
from pathlib import Path

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import JSONField
from psycopg import _queries

from tests.factories import (
    MAKERS,
    OWNER,
    assert_invariants,
    make,
    make_claimed,
    make_dead_letter,
    make_endpoint,
    make_parked,
    make_pending,
    make_waiting,
)
from tests.todos.seen import NOW, seconds
from todos import endpoints, reaper, rows, sql, transitions
from todos import models as models_of_todos
from todos.models import Endpoint, Todo
from todos.states import TRANSITIONS

FOLDER = Path(sql.HERE)
STATEMENTS = sorted(path.stem for path in FOLDER.glob("*.sql"))
FRAGMENTS = sorted(path.stem for path in (FOLDER / "fragments").glob("*.sql"))
ALL_FILES = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.sql"))

EDGES = {name: name.replace(" ", "_") for name in TRANSITIONS} | {
    "due retry": "requeue_due",
    "reap lapsed lease": "reap_leases",
    "reclaim lapsed wait": "reclaim_waits",
    "revoke endpoint": "revocation_apply",
}
"""The statement that makes each transition of the table."""


def text_of(name: str) -> str:
    return (FOLDER / name).read_text()


def header_of(name: str) -> str:
    lines = []
    for line in text_of(name).splitlines():
        if not line.startswith("-- "):
            break
        lines.append(line.removeprefix("-- "))
    return " ".join(lines)


def columns(fragment: str) -> list[str]:
    return re.findall(r"t\.(\w+)", sql.statement(f"fragments/{fragment}"))


def test_a_written_todo_has_the_columns_of_the_model_in_its_order() -> None:
    in_model = [field.column for field in Todo._meta.concrete_fields]
    assert columns("todo") == in_model == rows.FIELDS


def test_a_swept_todo_has_them_without_the_documents() -> None:
    in_model = [field.column for field in Todo._meta.concrete_fields]
    documents = {f.column for f in Todo._meta.concrete_fields if isinstance(f, JSONField)}
    assert set(rows.DOCUMENTS) == documents
    light = [name for name in in_model if name not in documents]
    assert columns("todo_light") == light == rows.LIGHT_FIELDS


@pytest.mark.parametrize("name", ALL_FILES)
def test_every_file_begins_by_saying_what_it_is_for(name: str) -> None:
    header = header_of(name)
    assert len(header) > 20
    assert header.endswith((".", ":")), header


@pytest.mark.parametrize(("edge", "statement"), EDGES.items())
def test_the_statement_of_each_transition_names_its_edge(edge: str, statement: str) -> None:
    assert statement in STATEMENTS
    if edge == "claim":
        names = ("claim: ", "claim_next: ")
        assert header_of("claim_next.sql").startswith(names)
    header = header_of(f"{statement}.sql")
    assert header.replace(" a lapsed", " lapsed").startswith(f"{edge}: ")
    assert "→" in header.partition(".")[0] or "as the sweep" in header


def known_indexes() -> set[str]:
    metas = [model._meta for model in apps.get_app_config("todos").get_models()]
    named = [thing for meta in metas for thing in (*meta.indexes, *meta.constraints)]
    return {str(thing.name) for thing in named}


@pytest.mark.parametrize("name", ALL_FILES)
def test_every_index_that_a_header_names_exists(name: str) -> None:
    named = set(re.findall(r"\b\w+_(?:idx|unique)\b", header_of(name)))
    assert named <= known_indexes()


def test_every_statement_that_an_index_says_it_serves_exists() -> None:
    modules = Path(str(models_of_todos.__file__)).parent.glob("*.py")
    source = "\n".join(module.read_text() for module in modules)
    served = re.findall(r"\b(\w+)\.sql\b", " ".join(re.findall(r"# (.*)", source)))
    assert len(served) > 5
    assert set(served) <= {Path(name).stem for name in ALL_FILES}


def test_every_fragment_is_used_and_every_one_that_is_used_exists() -> None:
    used = {name for path in ALL_FILES for name in re.findall(r"\{\{(\w+)\}\}", text_of(path))}
    assert used == set(FRAGMENTS)


def test_every_statement_is_used() -> None:
    package = FOLDER.parent
    code = " ".join(path.read_text() for path in package.rglob("*.py"))
    unused = {
        name
        for name in STATEMENTS
        if f'"{name}"' not in code and f'"{name.replace("_", " ")}"' not in code
    }
    assert unused == set()


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_is_put_together_without_comments(name: str) -> None:
    text = sql.statement(name)
    assert "{{" not in text
    assert "--" not in text
    assert "\n" not in text


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_is_short_enough_for_psycopg_to_remember(name: str) -> None:
    assert len(sql.statement(name)) <= _queries.MAX_CACHED_STATEMENT_LENGTH


@pytest.mark.parametrize("name", ALL_FILES)
def test_there_is_one_clock(name: str) -> None:
    code = "\n".join(line.partition("--")[0] for line in text_of(name).splitlines()).lower()
    other_clocks = r"\bnow\(|clock_timestamp|transaction_timestamp|current_|localtime|'now'"
    assert not re.search(other_clocks, code)


def one_of_each() -> None:
    """Every transition and every sweep, once."""
    for condition in MAKERS:
        make(condition)
    endpoint = make_endpoint()
    make_pending(endpoint=endpoint)
    claim = transitions.claim_next(endpoint, None, owner=OWNER)
    assert claim is not None
    transitions.heartbeat(endpoint, claim.todo.pk, owner=OWNER)
    transitions.interrupt(endpoint, claim.todo.pk, owner=OWNER, state="auth-required")
    transitions.resume(endpoint, claim.todo.pk, owner=OWNER)
    transitions.release(endpoint, claim.todo.pk, owner=OWNER)
    transitions.retry(None, make_dead_letter(endpoint=endpoint).pk)
    reaper.reclaim_now(make_waiting(endpoint=endpoint).pk)
    make_waiting(endpoint=endpoint, age=seconds(86_400))
    make_claimed(endpoint=endpoint, lapsed_for=NOW)
    make_parked(endpoint=endpoint, due_in=NOW)
    assert reaper.tick().good
    endpoints.revoke(endpoint)


@pytest.mark.django_db
def test_prepared_statements_survive_an_added_column() -> None:
    for _ in range(3):
        one_of_each()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements")
        assert cursor.fetchone()[0] > len(EDGES)
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for table in ("todos", "todo_attempts", "endpoints"):
            cursor.execute(f"ALTER TABLE {table} ADD COLUMN later text")
    one_of_each()
    assert_invariants()


@pytest.mark.parametrize("name", STATEMENTS)
def test_states_are_literals(name: str) -> None:
    # As a parameter, a state keeps the planner from a partial index. Interrupt only writes one.
    text = sql.statement(name)
    assert text.count("%(state)s") == (1 if name == "interrupt" else 0)
    if name == "interrupt":
        assert "SET state = %(state)s" in text


@pytest.mark.parametrize("name", STATEMENTS)
def test_an_id_is_said_to_be_not_empty_only_of_all_live_todos(name: str) -> None:
    # Who says it of other states is offered the indexes of the admin's lists.
    assert "id > ''" not in sql.statement(name).replace(sql.statement("fragments/live"), "")


@pytest.mark.parametrize("name", ["reap_leases", "reclaim_waits", "requeue_due", "stamp_waits"])
def test_sweeps_are_bounded_and_wait_for_nobody(name: str) -> None:
    text = sql.statement(name)
    assert "LIMIT %(limit)s" in text
    assert "SKIP LOCKED" in text
    assert "MATERIALIZED" in text


def test_no_statement_notifies() -> None:
    assert not any("notify" in sql.statement(name).lower() for name in STATEMENTS)


def test_the_endpoint_is_held_while_something_comes_to_life_there() -> None:
    for name in ("create", "retry"):
        assert "FOR SHARE" in sql.statement(name), name
    assert Endpoint._meta.db_table in sql.statement("create")
