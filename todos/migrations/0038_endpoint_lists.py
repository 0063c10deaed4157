from typing import Any

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from todos.online_migrations import build_index, drop_index, one_at_a_time

NAME = "todos_unclaimed_endpoint_idx"


def add_index(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    with one_at_a_time(schema_editor.connection):
        build_index(
            schema_editor.connection,
            "todos",
            NAME,
            f"CREATE INDEX CONCURRENTLY {NAME} ON todos (endpoint_id, queue, state, id)"
            " WHERE NOT (id = '-') AND state IN ('pending', 'input-required', 'auth-required',"
            " 'failed', 'done', 'canceled', 'rejected')",
        )


def remove_index(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    with one_at_a_time(schema_editor.connection):
        drop_index(schema_editor.connection, "todos", NAME)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("todos", "0037_unclaimed_indexes")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(add_index, remove_index)],
            state_operations=[
                migrations.AddIndex(
                    model_name="todo",
                    index=models.Index(
                        condition=models.Q(
                            models.Q(("id", "-"), _negated=True),
                            (
                                "state__in",
                                [
                                    "pending",
                                    "input-required",
                                    "auth-required",
                                    "failed",
                                    "done",
                                    "canceled",
                                    "rejected",
                                ],
                            ),
                        ),
                        fields=["endpoint", "queue", "state", "id"],
                        name=NAME,
                    ),
                ),
            ],
        ),
    ]
