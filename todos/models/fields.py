"""The kinds of columns that are our own."""

from typing import Any

import uuid_utils.compat as uuid_utils
from django.db import models


class StatementTimestamp(models.Func):
    """The database's clock, as every deadline and stamp uses it."""

    function = "STATEMENT_TIMESTAMP"
    output_field = models.DateTimeField()


class TodoIdField(models.TextField):  # type: ignore[type-arg]
    """`text` under the C collation.

    Spelled in capitals, since Django gives a `text` key a second index for LIKE: each transition
    would have to write it, and under C the primary key serves LIKE as well.
    """

    def db_type(self, connection: Any) -> str:
        return 'TEXT COLLATE "C"'


def new_todo_id() -> str:
    """`td_` and a UUID: version 7, so that new rows share index pages."""
    return f"td_{uuid_utils.uuid7()}"
