"""Readers of the environment.

Each returns a usable value, or stops the start with one line that names the variable and says what
it accepts. No line repeats the value: it may hold a password.
"""

import os
from collections.abc import Iterable
from urllib.parse import parse_qs, urlsplit

from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict
from redis.connection import parse_url

# Below this it can be no key at all; that a longer one is weak is said by `check --deploy`.
SECRET_MIN_LENGTH = 20
TOKEN_MIN_BYTES = 32
TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"", "0", "false", "no", "off"})


def refuse(name: str, accepted: str) -> ImproperlyConfigured:
    problem = "is malformed" if os.environ.get(name, "").strip() else "is missing"
    return ImproperlyConfigured(f"{name} {problem}. Accepted: {accepted}.")


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def secret(name: str) -> str:
    value = text(name)
    if len(value) < SECRET_MIN_LENGTH:
        raise refuse(
            name,
            f"at least {SECRET_MIN_LENGTH} characters, better 50 random ones, such as the output of"
            ' python -c "import secrets; print(secrets.token_urlsafe(50))"',
        )
    return value


def token(name: str) -> str:
    """A bearer token of visible ASCII characters; empty if it is not set."""
    value = text(name)
    if value and (len(value) < TOKEN_MIN_BYTES or not all("!" <= char <= "~" for char in value)):
        raise refuse(name, f"at least {TOKEN_MIN_BYTES} visible ASCII characters, or unset")
    return value


def flag(name: str, *, default: bool = False) -> bool:
    value = os.environ.get(name)
    if value is None:
        return default
    if (lowered := value.strip().lower()) in TRUE | FALSE:
        return lowered in TRUE
    raise refuse(name, "1 or 0 (also true, false, yes, no, on, off)")


def integer(name: str, *, default: int, minimum: int, maximum: int) -> int:
    value = text(name, str(default))
    # int() alone would take "1_000", " 7" and other alphabets' digits.
    if value.isascii() and value.isdecimal() and minimum <= (number := int(value[:12])) <= maximum:
        return number
    raise refuse(name, f"a whole number from {minimum} to {maximum}")


def choice(name: str, allowed: Iterable[str], *, default: str) -> str:
    accepted = tuple(allowed)
    value = text(name, default)
    for candidate in accepted:
        if value.lower() == candidate.lower():
            return candidate
    raise refuse(name, "one of " + ", ".join(word for word in accepted if word) + ", or unset")


def hosts(name: str, *, default: Iterable[str] = ()) -> list[str]:
    values = _words(name) or list(default)
    if not values or any(char in host for host in values for char in "/ @?#"):
        raise refuse(name, "host names without scheme or path, separated by commas")
    return values


def origins(name: str) -> list[str]:
    values = _words(name)
    for origin in values:
        parts = urlsplit(origin)
        if parts.scheme not in {"http", "https"} or not parts.netloc or parts.path:
            raise refuse(name, "origins such as https://board.example.org, separated by commas")
    return values


def _words(name: str) -> list[str]:
    return [word for word in (part.strip() for part in text(name).split(",")) if word]


def postgres(name: str) -> dict[str, str]:
    """The parts of a libpq connection string, which may be a URL or `key=value` words."""
    accepted = refuse(
        name,
        "a PostgreSQL connection string that names a database,"
        " such as postgresql://user:password@host:5432/switchboard",
    )
    try:
        parts = conninfo_to_dict(text(name))
    except (ProgrammingError, UnicodeError) as error:
        raise accepted from error
    # libpq looks at the ports only when it connects.
    ports = str(parts.get("port", "")).split(",")
    if not all(port.isdecimal() or not port for port in ports):
        raise accepted
    if not parts.get("dbname") and not parts.get("service"):
        raise accepted
    return {key: str(value) for key, value in parts.items()}


def redis_url(name: str) -> str:
    accepted = refuse(
        name,
        "redis://host:6379/0, rediss://host:6380/0 (TLS) or unix:///path/to/socket?db=0,"
        " with user:password@ before the host where needed",
    )
    value = text(name)
    address = urlsplit(value)
    try:
        parts = parse_url(value)  # type: ignore[no-untyped-call]
        # redis-py takes 0 for a database that is no number; Celery fails on it later.
        database = address.path.strip("/") if parts.get("host") else _query(value, "db")
        int(database or "0")
    except (ValueError, UnicodeError) as error:
        raise accepted from error
    if not parts.get("host") and not parts.get("path"):
        raise accepted
    return value


def broker_url(url: str) -> str:
    """The same address as Celery spells it: its scheme for a unix socket is not redis-py's."""
    parts = urlsplit(url)
    if parts.scheme != "unix":
        return url
    database = _query(url, "db") or "0"
    credentials = parts.netloc.rpartition("@")[0]
    login = f"{credentials}@" if credentials else ""
    return f"redis+socket://{login}{parts.path}?virtual_host={database}"


def _query(url: str, key: str) -> str:
    return parse_qs(urlsplit(url).query).get(key, [""])[0]
