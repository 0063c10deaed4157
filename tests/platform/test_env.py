"""A missing or malformed variable stops the start with one line that names it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from switchboard import env

NAME = "SOME_VARIABLE"
GOOD_SECRET = "0123456789abcdefghij"

Reader = Callable[[str], Any]


def flag(name: str) -> bool:
    return env.flag(name)


def number(name: str) -> int:
    return env.integer(name, default=7, minimum=0, maximum=100)


def level(name: str) -> str:
    return env.choice(name, ["", "INFO", "ERROR"], default="")


@pytest.mark.parametrize(
    ("reader", "value", "expected"),
    [
        (env.secret, GOOD_SECRET, GOOD_SECRET),
        (flag, None, False),
        (flag, "", False),
        (flag, "0", False),
        (flag, "off", False),
        (flag, "1", True),
        (flag, "True", True),
        (flag, " yes ", True),
        (number, None, 7),
        (number, "", 7),
        (number, "0", 0),
        (number, " 100 ", 100),
        (level, None, ""),
        (level, "error", "ERROR"),
        (env.hosts, "a.example.org", ["a.example.org"]),
        (env.hosts, " a.example.org, b.example.org,", ["a.example.org", "b.example.org"]),
        (env.hosts, "[::1]", ["[::1]"]),
        (env.origins, None, []),
        (env.origins, "https://a.example.org:8443", ["https://a.example.org:8443"]),
        (env.redis_url, "redis://localhost", "redis://localhost"),
        (env.redis_url, "rediss://u:p@h:6380/1", "rediss://u:p@h:6380/1"),
        (env.redis_url, "unix:///run/v.sock?db=1", "unix:///run/v.sock?db=1"),
        (
            env.postgres,
            "postgres://u:p%40ss@h:5433/d?sslmode=require",
            {
                "user": "u",
                "password": "p@ss",
                "host": "h",
                "port": "5433",
                "dbname": "d",
                "sslmode": "require",
            },
        ),
        (env.postgres, "host=/run/pg dbname=d", {"host": "/run/pg", "dbname": "d"}),
        (
            env.postgres,
            "postgresql://a:1,b:2/d?target_session_attrs=read-write",
            {
                "host": "a,b",
                "port": "1,2",
                "dbname": "d",
                "target_session_attrs": "read-write",
            },
        ),
        (env.postgres, "service=queue", {"service": "queue"}),
    ],
)
def test_good_values(
    monkeypatch: pytest.MonkeyPatch, reader: Reader, value: str | None, expected: Any
) -> None:
    set_or_unset(monkeypatch, value)
    assert reader(NAME) == expected


@pytest.mark.parametrize(
    ("reader", "value", "problem", "accepted"),
    [
        (env.secret, None, "missing", "at least 20 characters"),
        (env.secret, "  ", "missing", "at least 20 characters"),
        (env.secret, "0123456789abcdefghi", "malformed", "at least 20 characters"),
        (flag, "maybe", "malformed", "1 or 0"),
        (number, "-1", "malformed", "from 0 to 100"),
        (number, "101", "malformed", "from 0 to 100"),
        (number, "1.5", "malformed", "from 0 to 100"),
        (number, "1_0", "malformed", "from 0 to 100"),
        (number, "٧", "malformed", "from 0 to 100"),
        (number, "9" * 5000, "malformed", "from 0 to 100"),
        (level, "loud", "malformed", "INFO, ERROR"),
        (env.hosts, None, "missing", "host names"),
        (env.hosts, "https://a.example.org", "malformed", "host names"),
        (env.hosts, "a.example.org b.example.org", "malformed", "host names"),
        (env.origins, "a.example.org", "malformed", "https://board.example.org"),
        (env.origins, "https://a.example.org/admin", "malformed", "https://board.example.org"),
        (env.origins, "ftp://a.example.org", "malformed", "https://board.example.org"),
        (env.redis_url, None, "missing", "redis://"),
        (env.redis_url, "localhost:6379", "malformed", "redis://"),
        (env.redis_url, "http://localhost", "malformed", "redis://"),
        (env.redis_url, "redis://", "malformed", "redis://"),
        (env.redis_url, "redis://h:port/0", "malformed", "redis://"),
        (env.redis_url, "redis://h/zero", "malformed", "redis://"),
        (env.postgres, None, "missing", "postgresql://"),
        (env.postgres, "mysql://u:p@h/d", "malformed", "postgresql://"),
        (env.postgres, "sqlite:///d", "malformed", "postgresql://"),
        (env.postgres, "postgresql://h", "malformed", "names a database"),
        (env.postgres, "postgresql://h/d?no_such_option=1", "malformed", "postgresql://"),
        (env.postgres, "postgresql://h/%zz", "malformed", "postgresql://"),
        (env.postgres, "postgresql://h:port/d", "malformed", "postgresql://"),
    ],
)
def test_bad_values(
    monkeypatch: pytest.MonkeyPatch,
    reader: Reader,
    value: str | None,
    problem: str,
    accepted: str,
) -> None:
    set_or_unset(monkeypatch, value)
    with pytest.raises(ImproperlyConfigured) as caught:
        reader(NAME)
    line = str(caught.value)
    assert line.startswith(f"{NAME} is {problem}. Accepted: ")
    assert accepted in line
    assert "\n" not in line


@pytest.mark.parametrize("reader", [env.postgres, env.redis_url])
def test_a_password_is_never_repeated(monkeypatch: pytest.MonkeyPatch, reader: Reader) -> None:
    set_or_unset(monkeypatch, "wrong://user:hunter2@host/%zz")
    with pytest.raises(ImproperlyConfigured) as caught:
        reader(NAME)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://u:p@h:6379/1", "redis://u:p@h:6379/1"),
        ("unix:///run/v.sock", "redis+socket:///run/v.sock?virtual_host=0"),
        ("unix://u:p@/run/v%20k.sock?db=3", "redis+socket://u:p@/run/v%20k.sock?virtual_host=3"),
    ],
)
def test_celery_gets_the_same_broker(url: str, expected: str) -> None:
    assert env.broker_url(url) == expected


def set_or_unset(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    if value is None:
        monkeypatch.delenv(NAME, raising=False)
    else:
        monkeypatch.setenv(NAME, value)
