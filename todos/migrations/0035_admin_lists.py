from typing import Any

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models.functions import Collate, Upper

from todos.online_migrations import build_index, drop_index, one_at_a_time

INDEXES = {
    "todos_queue_idx": (
        "todos",
        "CREATE INDEX CONCURRENTLY todos_queue_idx ON todos (queue, state, id)"
        " INCLUDE (next_retry_at) WHERE id > ''",
    ),
    "todos_title_idx": (
        "todos",
        'CREATE INDEX CONCURRENTLY todos_title_idx ON todos ((upper(title)) COLLATE "C")',
    ),
    "todos_state_idx": (
        "todos",
        "CREATE INDEX CONCURRENTLY todos_state_idx ON todos (state, id)"
        " WHERE id > '' AND state IN ('pending', 'canceled', 'rejected')",
    ),
    "todo_attempts_outcome_idx": (
        "todo_attempts",
        "CREATE INDEX CONCURRENTLY todo_attempts_outcome_idx ON todo_attempts (outcome, id)"
        " WHERE outcome IN"
        " ('failed', 'released', 'canceled', 'revoked', 'lease_expired', 'reaped')",
    ),
}


def add_indexes(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    with one_at_a_time(schema_editor.connection):
        for name, (table, sql) in INDEXES.items():
            build_index(schema_editor.connection, table, name, sql)


def remove_indexes(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    with one_at_a_time(schema_editor.connection):
        for name, (table, _) in INDEXES.items():
            drop_index(schema_editor.connection, table, name)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("todos", "0034_terminal_indexes")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(add_indexes, remove_indexes)],
            state_operations=[
                migrations.AddIndex(
                    model_name="todo",
                    index=models.Index(
                        condition=models.Q(("id__gt", "")),
                        fields=["queue", "state", "id"],
                        include=["next_retry_at"],
                        name="todos_queue_idx",
                    ),
                ),
                migrations.AddIndex(
                    model_name="todo",
                    index=models.Index(Collate(Upper("title"), "C"), name="todos_title_idx"),
                ),
                migrations.AddIndex(
                    model_name="todo",
                    index=models.Index(
                        condition=models.Q(
                            ("id__gt", ""), ("state__in", ["pending", "canceled", "rejected"])
                        ),
                        fields=["state", "id"],
                        name="todos_state_idx",
                    ),
                ),
                migrations.AddIndex(
                    model_name="attempt",
                    index=models.Index(
                        condition=models.Q(
                            (
                                "outcome__in",
                                [
                                    "failed",
                                    "released",
                                    "canceled",
                                    "revoked",
                                    "lease_expired",
                                    "reaped",
                                ],
                            )
                        ),
                        fields=["outcome", "id"],
                        name="todo_attempts_outcome_idx",
                    ),
                ),
            ],
        ),
        migrations.AlterModelOptions(name="attempt", options={"default_permissions": ("view",)}),
        migrations.AlterModelOptions(
            name="endpoint",
            options={
                "default_permissions": ("view",),
                "permissions": [
                    ("vend_endpoint", "Can vend endpoints"),
                    ("revoke_endpoint", "Can revoke endpoints"),
                ],
            },
        ),
        migrations.AlterModelOptions(
            name="todo",
            options={
                "default_permissions": ("view",),
                "permissions": [
                    ("cancel_todo", "Can cancel todos"),
                    ("retry_todo", "Can retry failed todos"),
                    ("release_todo", "Can release claimed todos"),
                    ("resume_todo", "Can answer waits and resume them"),
                    ("reclaim_todo", "Can reclaim waits now"),
                ],
            },
        ),
    ]
