"""What docs/domain.md lists is what the code has."""

import inspect
import re

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import Model
from django.dispatch import Signal

from settings_app.models import Setting
from settings_app.registry import TUNABLES, Tunable
from tests.docs.pages import ROOT, blocks, code, headings, read, section, table, tables
from todos import errors, hooks, lease
from todos.models import Attempt
from todos.sql import HERE
from todos.states import (
    DEAD,
    INTERRUPT_STATES,
    LIVE,
    PARKED,
    TRANSITIONS,
    Disposition,
    Outcome,
    State,
)
from todos.verbs import DRAIN, Verb

DOMAIN = "docs/domain.md"
LEDGER = "The attempt ledger"

MODELS: list[type[Model]] = [*apps.get_app_config("todos").get_models(), Setting]
CONDITIONS = {
    "live": LIVE,
    "parked retry": (PARKED,),
    "dead letter": (DEAD,),
    "—": (),
}


def conditions(cell: str) -> tuple[str, ...]:
    """The conditions that a cell of the transitions table names, in its order."""
    words = [word.strip("`") for word in cell.split(", ")]
    return tuple(c for word in words for c in CONDITIONS.get(word, (word,)))


def test_the_table_of_transitions() -> None:
    rows = table(DOMAIN, "Transitions")
    assert [row["transition"] for row in rows] == list(TRANSITIONS)
    for row, transition in zip(rows, TRANSITIONS.values(), strict=True):
        assert row["who"] == transition.actor
        assert set(conditions(row["from"])) == set(transition.sources), transition.name
        assert conditions(row["to"]) == transition.targets, transition.name


def test_live_is_what_the_word_says() -> None:
    (meaning,) = (row["meaning"] for row in table(DOMAIN, "Words") if row["word"] == "live")
    assert meaning == "`pending`, `claimed`, in an interrupt state, or a parked retry"
    assert set(LIVE) == {State.PENDING, State.CLAIMED, *INTERRUPT_STATES, PARKED}


def test_the_states_of_the_table_todos() -> None:
    (row,) = (row for row in table(DOMAIN, "`todos`") if row["column"] == "`state`")
    assert set(code(row["meaning"])) == set(State.values)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.db_table)
def test_the_columns_of_each_table(model: type[Model]) -> None:
    heading = LEDGER if model is Attempt else f"`{model._meta.db_table}`"
    named = [code(row["column"])[0] for row in table(DOMAIN, heading)]
    columns = {field.column for field in model._meta.concrete_fields}
    assert len(named) == len(columns)
    assert set(named) == columns


def test_no_other_table_is_described() -> None:
    described = [heading.strip("`") for heading in headings(section(DOMAIN, "Tables"))]
    assert sorted(described) == sorted(model._meta.db_table for model in MODELS)


def test_outcomes_and_dispositions() -> None:
    _, outcomes, dispositions = tables(section(DOMAIN, LEDGER))
    assert [code(row["outcome"])[0] for row in outcomes] == Outcome.values
    assert [code(row["disposition"])[0] for row in dispositions] == Disposition.values


def test_the_bounds_of_a_lease() -> None:
    assert [int(row["seconds"]) for row in table(DOMAIN, "Leases")] == [
        lease.SERVER_DEFAULT,
        lease.MAX_TTL,
        lease.MIN_DEFAULT,
    ]


def setting_row(tunable: Tunable) -> list[str]:
    bounds = [tunable.default, tunable.floor, tunable.ceiling]
    return [*map(str, bounds), tunable.off or "raised", tunable.beyond or "lowered"]


def test_the_settings() -> None:
    rows = table(DOMAIN, "Settings")
    named = {
        code(row["key"])[0]: [row[name] for name in ("default", "from", "to", "≤ 0", "above")]
        for row in rows
    }
    assert named == {key: setting_row(tunable) for key, tunable in TUNABLES.items()}


def test_the_requirement_of_the_deadline_has_the_same_bounds() -> None:
    ttl = TUNABLES["interrupt_lease_ttl_seconds"]
    requirement = section("docs/states.md", "The deadline of a wait")
    assert f"| {ttl.floor} to {ttl.ceiling} |" in requirement
    assert f"| 1 to {ttl.floor - 1} | raised to {ttl.floor} |" in requirement
    assert f"{ttl.default // 3600} hours" in requirement


def test_the_causes_in_a_result() -> None:
    (causes,) = (rows for rows in tables(read(DOMAIN)) if "what happened" in rows[0])
    named = [re.findall(r'"error": "(\w+)"', row["`result`"])[0] for row in causes]
    statements = "".join(path.read_text() for path in HERE.rglob("*.sql"))
    assert sorted(named) == sorted(set(re.findall(r"'error', '(\w+)'", statements)))


def test_the_errors() -> None:
    classes = inspect.getmembers(errors, inspect.isclass)
    named = [code(row["error"])[0] for row in table(DOMAIN, "Inputs and errors")]
    assert sorted(["SwitchboardError", *named]) == [name for name, _ in classes]


def test_the_hooks() -> None:
    signals = inspect.getmembers(hooks, lambda member: isinstance(member, Signal))
    named = [code(row["signal"])[0] for row in table(DOMAIN, "Hooks")]
    assert sorted(named) == [name for name, _ in signals]


def test_the_code_refers_to_sections_that_exist() -> None:
    known = set(headings(read(DOMAIN)))
    referred = {
        name
        for package in ("todos", "settings_app", "switchboard")
        for path in (ROOT / package).rglob("*.py")
        for names in re.findall(r"\(the domain: ([^)]+)\)", path.read_text())
        for name in re.split(r",\s+", names)
    }
    assert "Settings" in referred
    assert referred <= known


@pytest.mark.django_db
@pytest.mark.parametrize("statement", blocks(read(DOMAIN), "sql"))
def test_the_sql_of_the_page_runs(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def test_the_verbs() -> None:
    rows = table(DOMAIN, "Verbs")
    assert [code(row["verb"])[0] for row in rows] == list(Verb)
    assert [code(row["verb"])[0] for row in rows if row["drains"] == "yes"] == list(DRAIN)
