"""A mark of what effect a person was shown for which change, carried by the pages' forms.

It is signed, so that it says when that was, and that the change is the same one.
"""

from typing import Any

from django.core import signing

_SALT = "settings_app.seen"
VALID_SECONDS = 600
"""How long a confirmation counts: later, its numbers are of another hour."""


def mark(key: str, before: str | None, after: str | None, summary: str) -> str:
    return signing.dumps([key, before, after, summary], salt=_SALT, compress=True)


def summary_of(
    text: str, key: str, before: str | None, after: str | None, *, max_age: int | None = None
) -> str | None:
    """The summary that was shown for this very change; None if none was, or too long ago."""
    try:
        content: Any = signing.loads(text, salt=_SALT, max_age=max_age)
    except signing.BadSignature:
        return None
    return str(content[3]) if content[:3] == [key, before, after] else None
