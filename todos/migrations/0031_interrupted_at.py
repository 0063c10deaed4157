"""`todos.interrupted_at`, the clock of a wait (ADR-0046), added to a live table.

`docs/migrations.md` says what an operator sees of it. The index comes before the stamps, since
nothing else finds the few waits among millions of rows: it holds unstamped ones too.
"""

import time
from typing import Any

from django.db import migrations, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from todos.online_migrations import (
    alter_briefly,
    build_index,
    drop_index,
    has_column,
    one_at_a_time,
    rows,
    say,
)

BATCH = 1000

PAUSES = (0.5, 1.0, 2.0, 0.0)
"""Seconds after each pass that met held rows: whoever holds them may be done by the next."""

_UNSTAMPED = """
SELECT id FROM todos
WHERE state IN ('input-required', 'auth-required') AND interrupted_at IS NULL
"""

# Rows that somebody holds are skipped: a transition must not wait for a migration, nor this one
# for it. The guard reads what the lock returned: as a condition on todos it would have each batch
# walk the whole index once more.
_STAMP = """
WITH held AS MATERIALIZED (
    SELECT id, state, interrupted_at FROM todos WHERE id = ANY(%s)
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE todos SET interrupted_at = updated_at
WHERE id = ANY(ARRAY(
    SELECT id FROM held
    WHERE state IN ('input-required', 'auth-required') AND interrupted_at IS NULL
))
RETURNING id
"""


def add_column(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    connection = schema_editor.connection
    with one_at_a_time(connection):
        if not has_column(connection, "todos", "interrupted_at"):
            alter_briefly(
                connection, "todos", "ALTER TABLE todos ADD COLUMN interrupted_at timestamptz"
            )


def drop_column(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    connection = schema_editor.connection
    with one_at_a_time(connection):
        if has_column(connection, "todos", "interrupted_at"):
            alter_briefly(connection, "todos", "ALTER TABLE todos DROP COLUMN interrupted_at")


def add_index(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    connection = schema_editor.connection
    with one_at_a_time(connection):
        build_index(
            connection,
            "todos",
            "todos_interrupted_idx",
            "CREATE INDEX CONCURRENTLY todos_interrupted_idx ON todos (interrupted_at)"
            " WHERE state IN ('input-required', 'auth-required')",
        )


def remove_index(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    connection = schema_editor.connection
    with one_at_a_time(connection):
        drop_index(connection, "todos", "todos_interrupted_idx")


def stamp_waits(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    connection = schema_editor.connection
    with one_at_a_time(connection):
        for pause in PAUSES:
            waits = [todo_id for (todo_id,) in rows(connection, _UNSTAMPED)]
            if not waits:
                return
            if stamp(connection, waits) < len(waits):
                time.sleep(pause)
        if left := len(rows(connection, _UNSTAMPED)):
            say(f"{left} waits are held by others or new: the reaper's next tick stamps them")


def stamp(connection: BaseDatabaseWrapper, waits: list[str]) -> int:
    """Give each wait the stamp it lacks, each batch in a commit of its own."""
    stamped = 0
    told = time.monotonic()
    for start in range(0, len(waits), BATCH):
        stamped += len(rows(connection, _STAMP, [waits[start : start + BATCH]]))
        if time.monotonic() - told > 1:
            say(f"stamped {stamped} of {len(waits)} waits")
            told = time.monotonic()
    if stamped:
        say(f"stamped {stamped} of {len(waits)} waits")
    return stamped


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("todos", "0017_dead_letter_revoked_waits")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunPython(add_column, drop_column),
                migrations.RunPython(add_index, remove_index),
                # Nothing to take back: the column goes.
                migrations.RunPython(stamp_waits, migrations.RunPython.noop),
            ],
            state_operations=[
                migrations.AddField(
                    model_name="todo",
                    name="interrupted_at",
                    field=models.DateTimeField(blank=True, null=True),
                ),
                migrations.AddIndex(
                    model_name="todo",
                    index=models.Index(
                        condition=models.Q(("state__in", ("input-required", "auth-required"))),
                        fields=["interrupted_at"],
                        name="todos_interrupted_idx",
                    ),
                ),
            ],
        ),
    ]
