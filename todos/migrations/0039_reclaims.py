from typing import Any

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from todos.online_migrations import (
    alter_briefly,
    build_index,
    drop_index,
    has_column,
    one_at_a_time,
)

TABLE, COLUMN, INDEX = "todo_attempts", "waited_since", "todo_attempts_reclaimed_idx"


def add_column(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    connection = schema_editor.connection
    with one_at_a_time(connection):
        if not has_column(connection, TABLE, COLUMN):
            alter_briefly(connection, TABLE, f"ALTER TABLE {TABLE} ADD COLUMN {COLUMN} timestamptz")


def drop_column(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    connection = schema_editor.connection
    with one_at_a_time(connection):
        if has_column(connection, TABLE, COLUMN):
            alter_briefly(connection, TABLE, f"ALTER TABLE {TABLE} DROP COLUMN {COLUMN}")


def add_index(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    connection = schema_editor.connection
    with one_at_a_time(connection):
        build_index(
            connection,
            TABLE,
            INDEX,
            f"CREATE INDEX CONCURRENTLY {INDEX} ON {TABLE} (ended_at)"
            " WHERE ended_from IN ('input-required', 'auth-required') AND outcome = 'reaped'",
        )


def remove_index(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    connection = schema_editor.connection
    with one_at_a_time(connection):
        drop_index(connection, TABLE, INDEX)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("todos", "0038_endpoint_lists")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunPython(add_column, drop_column),
                migrations.RunPython(add_index, remove_index),
            ],
            state_operations=[
                migrations.AddField(
                    model_name="attempt",
                    name="waited_since",
                    field=models.DateTimeField(blank=True, null=True),
                ),
                migrations.AddIndex(
                    model_name="attempt",
                    index=models.Index(
                        condition=models.Q(
                            ("ended_from__in", ("input-required", "auth-required")),
                            ("outcome", "reaped"),
                        ),
                        fields=["ended_at"],
                        name="todo_attempts_reclaimed_idx",
                    ),
                ),
            ],
        ),
    ]
