"""Dead-letters the waits that a revocation from before the cascade left behind.

Their endpoint is revoked, so nobody can resume or claim them; they would be held for ever. What else
such an endpoint left live is the tick's to finish.
"""

from typing import Any

from django.db import migrations, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from todos.online_migrations import rows, say

BATCH = 500

_FIND = """
SELECT todos.id FROM todos JOIN endpoints ON endpoints.id = todos.endpoint_id
WHERE endpoints.revoked_at IS NOT NULL AND todos.state IN ('input-required', 'auth-required')
ORDER BY todos.id
"""

# Locked here and written by the next statement, which sees what a transition that held the row did
# to its attempts.
_LOCK = """
SELECT id FROM todos WHERE id = ANY(%s) AND state IN ('input-required', 'auth-required')
ORDER BY id FOR NO KEY UPDATE
"""

_DEAD_LETTER = """
WITH waits AS MATERIALIZED (
    SELECT todos.id, todos.state, concat(
        'endpoint ', endpoints.name, ' was revoked at ',
        to_char(endpoints.revoked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
        ' and left this todo waiting (', todos.state, ')'
    ) AS detail
    FROM todos JOIN endpoints ON endpoints.id = todos.endpoint_id
    WHERE todos.id = ANY(%s)
), closed AS (
    UPDATE todo_attempts
    SET ended_at = statement_timestamp(), ended_from = waits.state,
        outcome = 'revoked', disposition = 'dead_lettered'
    FROM waits
    WHERE todo_attempts.todo_id = waits.id AND todo_attempts.ended_at IS NULL
)
UPDATE todos
SET state = 'failed', owner = NULL, lease_expires_at = NULL, next_retry_at = NULL,
    result = jsonb_build_object('error', 'endpoint_revoked', 'detail', waits.detail),
    completed_at = statement_timestamp(), updated_at = statement_timestamp()
FROM waits
WHERE todos.id = waits.id
RETURNING todos.id
"""


def dead_letter(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    connection = schema_editor.connection
    found = [todo_id for (todo_id,) in rows(connection, _FIND)]
    count = 0
    for start in range(0, len(found), BATCH):
        count += dead_letter_batch(connection, found[start : start + BATCH])
    if count:
        say(f"dead-lettered {count} waits of revoked endpoints")


def dead_letter_batch(connection: BaseDatabaseWrapper, found: list[str]) -> int:
    with transaction.atomic(using=connection.alias):
        waits = [todo_id for (todo_id,) in rows(connection, _LOCK, [found])]
        return len(rows(connection, _DEAD_LETTER, [waits]))


class Migration(migrations.Migration):
    # Each batch is a commit of its own, so that a large table is not locked as one.
    atomic = False

    dependencies = [("todos", "0001_initial")]

    operations = [
        # No way back: who held which wait is gone, and a revoked endpoint's todos have to be dead.
        migrations.RunPython(dead_letter, migrations.RunPython.noop),
    ]
