"""Checks of what callers hand in: each returns the value to store or raises InvalidInput."""

import json
import re
import unicodedata
import uuid
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from todos.errors import InvalidInput, TodoNotFound
from todos.verbs import Verb

MAX_LABEL_LENGTH = 200
MAX_JSON_BYTES = 256 * 1024
MAX_JSON_DEPTH = 100
"""Far from Python's own limit, which depends on who calls: what one stored, all can read."""
MAX_ARTIFACT_BYTES = 512
MAX_CLAIMANT_BYTES = 128
MAX_SUMMARY_BYTES = 2048
MAX_INT4 = 2**31 - 1
OTHER_QUEUES = "__other__"
"""The label under which metrics count the queues beyond their bound: no queue's name."""

# Unlike \\u0000 behind an escaped backslash, this one is a NUL character.
_NUL_IN_JSON = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def label(field: str, value: object, *, empty: bool = False) -> str:
    """A name of at most 200 characters without control characters."""
    if not isinstance(value, str):
        raise InvalidInput(field, f"must be a string, not {type(value).__name__}")
    if not value.strip() and not (empty and value == ""):
        raise InvalidInput(field, "must not be empty")
    if len(value) > MAX_LABEL_LENGTH:
        raise InvalidInput(
            field, f"must have at most {MAX_LABEL_LENGTH} characters, not {len(value)}"
        )
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in value):
        raise InvalidInput(field, "must not contain control characters or lone surrogates")
    return value


def optional_label(field: str, value: object) -> str | None:
    return None if value is None else label(field, value)


def queue_name(value: object, field: str = "queue") -> str:
    name = label(field, value)
    if name == OTHER_QUEUES:
        raise InvalidInput(field, f"{OTHER_QUEUES!r} is reserved for metrics")
    return name


def queue_names(value: object) -> list[str]:
    """Distinct queue names, in the given order."""
    if isinstance(value, str) or not isinstance(value, list | tuple | set | frozenset):
        raise InvalidInput("queues", "must be a list of queue names")
    if not value:
        raise InvalidInput("queues", "must name at least one queue")
    return list(dict.fromkeys(queue_name(name, "queues") for name in value))


def verb_names(value: object) -> list[str]:
    """Distinct verbs of `todos.verbs`, in the order that they have there."""
    if isinstance(value, str) or not isinstance(value, list | tuple | set | frozenset):
        raise InvalidInput("verbs", "must be a list of verbs")
    if not value:
        raise InvalidInput("verbs", "must name at least one verb")
    if unknown := [name for name in value if name not in list(Verb)]:
        raise InvalidInput("verbs", f"must be of {', '.join(Verb)}; {unknown[0]!r:.80} is none")
    return [str(verb) for verb in Verb if verb in value]


def whole_number(field: str, value: object, *, at_least: int, at_most: int | None = None) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        shown = f"{value!r:.80}" if isinstance(value, str | float | bool) else type(value).__name__
        raise InvalidInput(field, f"must be a whole number, not {shown}")
    if value < at_least or (at_most is not None and value > at_most):
        bounds = f"at least {at_least}" if at_most is None else f"{at_least} to {at_most}"
        raise InvalidInput(field, f"must be {bounds}")
    return value


def moment(field: str, value: object) -> datetime:
    """A date and time with a zone, in UTC: the years 1 to 9999 there."""
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise InvalidInput(field, "must be a date and time with a time zone")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(field, "must be in the years 1 to 9999 in UTC") from None


def json_text(field: str, value: Any) -> str | None:
    """Compact JSON of at most 256 KiB that PostgreSQL can store; None for None."""
    if value is None:
        return None
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidInput(field, "must not contain lone surrogates") from None
    except RecursionError:
        raise InvalidInput(field, "is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise InvalidInput(field, f"is not JSON: {error}") from None
    if size > MAX_JSON_BYTES:
        raise InvalidInput(field, f"must be at most {MAX_JSON_BYTES} bytes of JSON, not {size}")
    _check_containers(field, value)
    if _NUL_IN_JSON.search(text):
        raise InvalidInput(field, "must not contain NUL characters")
    return text


def claimant_label(value: object) -> str:
    """A caller's own name for itself, cleaned and cut rather than refused."""
    return _cut(_printable("claimant", value, keep=""), MAX_CLAIMANT_BYTES)[0]


def summary_text(value: object, result: str | None) -> tuple[str | None, bool]:
    """The summary of an attempt and whether it was cut; without one, the JSON of its result."""
    text = result if value is None else _printable("summary", value, keep="\n\t")
    return (None, False) if text is None else _cut(text, MAX_SUMMARY_BYTES)


def artifact_url(value: object) -> str | None:
    """An `https` URL of at most 512 bytes, or an `mcp://` handle."""
    if value is None:
        return None
    if not isinstance(value, str) or not value.isprintable() or " " in value:
        raise InvalidInput("artifact", "must be an https URL or an mcp:// handle")
    if len(value.encode()) > MAX_ARTIFACT_BYTES:
        raise InvalidInput("artifact", f"must be at most {MAX_ARTIFACT_BYTES} bytes")
    try:
        parts = urlsplit(value)
        named = bool(parts.hostname) if parts.scheme == "https" else value[6:] != ""
    except ValueError:
        named = False
    if not named or not value.lower().startswith(("https://", "mcp://")):
        raise InvalidInput("artifact", "must be an https URL or an mcp:// handle")
    return value


def todo_id(value: object) -> str:
    """An id that can be looked up; what cannot be one is not found, never a database error."""
    if not isinstance(value, str) or not value.isprintable() or len(value) > MAX_LABEL_LENGTH:
        raise TodoNotFound
    return value


def endpoint_id(value: object) -> uuid.UUID:
    """The id of an endpoint, given as one, as its id or as the id's text."""
    value = getattr(value, "pk", value)
    if isinstance(value, uuid.UUID):
        return value
    try:
        return uuid.UUID(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, AttributeError):
        raise TodoNotFound("endpoint") from None


def _check_containers(field: str, value: Any) -> None:
    """No deeper than the bound, and no keys that JSON would turn into others, or into one."""
    level = [value]
    for _ in range(MAX_JSON_DEPTH + 1):
        containers = [item for item in level if isinstance(item, dict | list | tuple)]
        if not containers:
            return
        level = []
        for item in containers:
            if isinstance(item, dict):
                if not all(isinstance(key, str) for key in item):
                    raise InvalidInput(field, "must have strings as the keys of its objects")
                level += item.values()
            else:
                level += item
    raise InvalidInput(field, f"must not be nested more than {MAX_JSON_DEPTH} levels deep")


def _printable(field: str, value: object, *, keep: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(field, f"must be a string, not {type(value).__name__}")
    text = "".join(c for c in value if c in keep or unicodedata.category(c) != "Cc")
    if any(unicodedata.category(character) == "Cs" for character in text):
        raise InvalidInput(field, "must not contain lone surrogates")
    return text


def _cut(text: str, limit: int) -> tuple[str, bool]:
    encoded = text.encode()
    return encoded[:limit].decode(errors="ignore"), len(encoded) > limit
