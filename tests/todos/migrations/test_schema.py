"""The migrations and the models describe one schema, however it was reached."""

from pathlib import Path

import pytest
from django.apps import apps

from tests.todos.migrations.database import AFTER, BEFORE, Database, Row

TODOS = apps.get_app_config("todos")
LAST = (Path(TODOS.path) / "migrations" / "max_migration.txt").read_text().strip()


def test_from_scratch_equals_step_by_step(database: Database, empty: Database) -> None:
    database.seed()
    for target in (AFTER, LAST, AFTER, BEFORE, "0001_initial", BEFORE, AFTER, LAST):
        database.migrate(target)
    step_by_step = database.schema()

    empty.migrate(LAST)

    assert empty.schema() == step_by_step


def test_the_tables_are_those_of_the_models(empty: Database) -> None:
    empty.migrate(LAST)
    migrated = unordered(empty.schema())

    models = list(TODOS.get_models())
    empty.session.execute(f"DROP TABLE {', '.join(model._meta.db_table for model in models)}")
    with empty.django.schema_editor() as editor:
        for model in models:
            editor.create_model(model)

    logged = ("table", "reaper_ticks", "p")
    unlogged = ("table", "reaper_ticks", "u")
    assert migrated - {unlogged} == unordered(empty.schema()) - {logged}
    assert unlogged in migrated


def unordered(schema: set[Row]) -> set[Row]:
    """Without the order of columns, which ADD COLUMN decides."""
    return {(kind, name, definition) for kind, name, _, definition in schema}


@pytest.mark.parametrize("target", [AFTER, BEFORE])
def test_no_constraint_asks_for_a_stamp(database: Database, target: str) -> None:
    database.migrate(LAST)
    database.migrate(target)
    constraints = [row for row in database.schema() if row[0] == "constraint"]
    assert constraints
    assert not [row for row in constraints if "interrupted_at" in str(row)]
