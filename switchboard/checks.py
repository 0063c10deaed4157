from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as Caution
from django.db import connections

OLDEST_POSTGRESQL = 15


@register(Tags.database)
def postgresql_is_recent(*, databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Runs before each migrate: better one line than a syntax error half-way through the schema."""
    problems: list[CheckMessage] = []
    for alias in databases or ():
        with connections[alias].cursor() as cursor:
            cursor.execute("SELECT current_setting('server_version_num')::int / 10000")
            (version,) = cursor.fetchone()
        if version < OLDEST_POSTGRESQL:
            problems.append(
                Error(
                    f"The database is PostgreSQL {version}.",
                    hint=f"Switchboard needs PostgreSQL {OLDEST_POSTGRESQL} or newer.",
                    id="switchboard.E001",
                )
            )
    return problems


@register(Tags.staticfiles, deploy=True)
def static_files_are_collected(**_: Any) -> list[CheckMessage]:
    if any(settings.STATIC_ROOT.glob("admin/*")):
        return []
    return [
        Caution(
            "The static files are not collected: the admin would have no style sheets.",
            hint="Run `manage.py collectstatic --noinput` on every host that runs the web process.",
            id="switchboard.W001",
        )
    ]
