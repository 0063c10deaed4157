"""`endpoints.verbs`: what was vended before may do what draining a queue needs.

The default stays in the database: a process from before this migration goes on vending.
"""

from typing import Any

import django.contrib.postgres.fields
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from todos.online_migrations import alter_briefly, has_column, one_at_a_time

DRAIN = (
    "list",
    "get",
    "claim",
    "heartbeat",
    "complete",
    "fail",
    "release",
    "interrupt",
    "resume",
    "events",
)


def add_column(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    connection = schema_editor.connection
    with one_at_a_time(connection):
        if not has_column(connection, "endpoints", "verbs"):
            # A constant default is kept in the catalogue: no row is rewritten.
            default = f"'{{{','.join(DRAIN)}}}'"
            alter_briefly(
                connection,
                "endpoints",
                f"ALTER TABLE endpoints ADD COLUMN verbs text[] NOT NULL DEFAULT {default}",
            )


def drop_column(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    connection = schema_editor.connection
    with one_at_a_time(connection):
        if has_column(connection, "endpoints", "verbs"):
            alter_briefly(connection, "endpoints", "ALTER TABLE endpoints DROP COLUMN verbs")


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("todos", "0035_admin_lists")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(add_column, drop_column)],
            state_operations=[
                migrations.AddField(
                    model_name="endpoint",
                    name="verbs",
                    field=django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(),
                        db_default=list(DRAIN),
                        size=None,
                    ),
                ),
            ],
        ),
    ]
