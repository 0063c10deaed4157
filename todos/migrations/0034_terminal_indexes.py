from typing import Any

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from todos.online_migrations import build_index, drop_index, one_at_a_time

INDEXES = {
    "todos_ended_idx": "CREATE INDEX CONCURRENTLY todos_ended_idx ON todos (completed_at)"
    " WHERE state IN ('done', 'canceled', 'rejected')",
    "todos_dead_idx": "CREATE INDEX CONCURRENTLY todos_dead_idx ON todos (completed_at)"
    " WHERE next_retry_at IS NULL AND state = 'failed'",
}


def add_indexes(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    with one_at_a_time(schema_editor.connection):
        for name, sql in INDEXES.items():
            build_index(schema_editor.connection, "todos", name, sql)


def remove_indexes(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    with one_at_a_time(schema_editor.connection):
        for name in INDEXES:
            drop_index(schema_editor.connection, "todos", name)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("todos", "0033_counters")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(add_indexes, remove_indexes)],
            state_operations=[
                migrations.AddIndex(
                    model_name="todo",
                    index=models.Index(
                        condition=models.Q(("state__in", ("done", "canceled", "rejected"))),
                        fields=["completed_at"],
                        name="todos_ended_idx",
                    ),
                ),
                migrations.AddIndex(
                    model_name="todo",
                    index=models.Index(
                        condition=models.Q(("next_retry_at__isnull", True), ("state", "failed")),
                        fields=["completed_at"],
                        name="todos_dead_idx",
                    ),
                ),
            ],
        ),
    ]
