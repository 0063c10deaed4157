"""The admin's indexes by queue and by title, without what is claimed: claims write neither.

The new ones are there before the old ones go, on the way back, too: lists are served throughout.
"""

from typing import Any

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models.functions import Collate, Upper

from todos.online_migrations import build_index, drop_index, one_at_a_time

_UNCLAIMED = (
    "id > '' AND state IN ('pending', 'input-required', 'auth-required', 'failed', 'done',"
    " 'canceled', 'rejected')"
)
FULL = {
    "todos_queue_idx": "CREATE INDEX CONCURRENTLY todos_queue_idx ON todos (queue, state, id)"
    " INCLUDE (next_retry_at) WHERE id > ''",
    "todos_title_idx": "CREATE INDEX CONCURRENTLY todos_title_idx ON todos"
    ' ((upper(title)) COLLATE "C")',
}
UNCLAIMED = {
    "todos_unclaimed_queue_idx": "CREATE INDEX CONCURRENTLY todos_unclaimed_queue_idx ON todos"
    f" (queue, state, id) INCLUDE (next_retry_at) WHERE {_UNCLAIMED}",
    "todos_unclaimed_title_idx": "CREATE INDEX CONCURRENTLY todos_unclaimed_title_idx ON todos"
    f' ((upper(title)) COLLATE "C") WHERE {_UNCLAIMED}',
}


def replace(
    schema_editor: BaseDatabaseSchemaEditor, old: dict[str, str], new: dict[str, str]
) -> None:
    with one_at_a_time(schema_editor.connection):
        for name, sql in new.items():
            build_index(schema_editor.connection, "todos", name, sql)
        for name in old:
            drop_index(schema_editor.connection, "todos", name)


def leave_claimed_out(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    replace(schema_editor, FULL, UNCLAIMED)


def take_claimed_in(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    replace(schema_editor, UNCLAIMED, FULL)


_CONDITION = models.Q(
    ("id__gt", ""),
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
)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("todos", "0036_endpoint_verbs")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(leave_claimed_out, take_claimed_in)],
            state_operations=[
                migrations.RemoveIndex(model_name="todo", name="todos_queue_idx"),
                migrations.RemoveIndex(model_name="todo", name="todos_title_idx"),
                migrations.AddIndex(
                    model_name="todo",
                    index=models.Index(
                        condition=_CONDITION,
                        fields=["queue", "state", "id"],
                        include=["next_retry_at"],
                        name="todos_unclaimed_queue_idx",
                    ),
                ),
                migrations.AddIndex(
                    model_name="todo",
                    index=models.Index(
                        Collate(Upper("title"), "C"),
                        condition=_CONDITION,
                        name="todos_unclaimed_title_idx",
                    ),
                ),
            ],
        ),
    ]
