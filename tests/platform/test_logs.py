"""The log as an operator reads it: what is in it, and one line per event."""

import json
import logging
import re
import sys
from collections.abc import Iterator
from datetime import datetime
from types import TracebackType

import pytest
from django.db import IntegrityError, connection

from switchboard import logs
from todos import endpoints, tracing

STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None]


def record(
    message: str,
    *arguments: object,
    name: str = "todos.reaper",
    level: int = logging.INFO,
    error: ExcInfo | None = None,
) -> logging.LogRecord:
    return logging.LogRecord(name, level, "", 0, message, arguments, error)


def text(message: str, *arguments: object, error: ExcInfo | None = None) -> str:
    return logs.Text().format(record(message, *arguments, error=error))


def as_json(message: str, *arguments: object, error: ExcInfo | None = None) -> dict[str, object]:
    line = logs.Json().format(record(message, *arguments, error=error))
    assert len(line.splitlines()) == 1
    event: dict[str, object] = json.loads(line)
    return event


def raised(error: Exception) -> ExcInfo:
    try:
        raise error
    except Exception:
        info = sys.exc_info()
        assert info[0]
        return info


@pytest.fixture
def serving() -> Iterator[None]:
    token = tracing.enter(tracing.Request("abc-1"))
    yield
    tracing.leave(token)


def test_a_reap_reads_as_its_documentation_says() -> None:
    stamp, rest = text("reaped expired leases count=%(count)d", {"count": 3}).split(" ", 1)
    assert re.fullmatch(STAMP, stamp)
    assert rest == "todos.reaper INFO reaped expired leases count=3"


def test_in_json_the_values_of_a_message_are_keys_of_their_own() -> None:
    event = as_json("reaped expired leases count=%(count)d", {"count": 3})
    assert re.fullmatch(STAMP, str(event.pop("time")))
    assert event == {
        "logger": "todos.reaper",
        "level": "INFO",
        "message": "reaped expired leases count=3",
        "count": 3,
    }


def test_the_time_is_utc() -> None:
    event = record("now")
    stamp = logs.Text().format(event).split(" ")[0]
    assert datetime.fromisoformat(stamp).timestamp() == pytest.approx(event.created, abs=0.001)


def test_a_message_cannot_replace_what_the_log_says_of_itself() -> None:
    event = as_json("%(level)s", {"level": "forged", "request_id": "x", "time": "never"})
    assert event["level"] == "INFO"
    assert event["time"] != "never"


def test_an_event_within_a_request_carries_its_id(serving: None) -> None:
    assert text("cancelled").endswith("todos.reaper INFO request_id=abc-1 cancelled")
    assert as_json("cancelled")["request_id"] == "abc-1"


def test_no_text_of_others_stands_before_our_keys(serving: None) -> None:
    line = text("passed over %s", "request_id=forged status=200")
    assert line.split("INFO ")[1].startswith("request_id=abc-1 passed over")


@pytest.mark.parametrize("mark", ["\n", "\r", "\x0b", "\x1c", "\x85", "\u2028", "\u2029"])
def test_a_line_break_in_what_is_quoted_does_not_begin_a_new_event(mark: str) -> None:
    line = text("value %s", f"1{mark}2026-01-01 root INFO forged")
    assert len(line.splitlines()) == 1
    assert line.endswith("2026-01-01 root INFO forged")
    as_json("value %s", f"1{mark}forged")


def test_what_a_terminal_would_obey_is_written_out() -> None:
    line = text("value %s", "\x1b[2J\u202eforged\x00\x9b")
    assert line.endswith(r"value \x1b[2J\u202eforged\x00\x9b")


def test_a_traceback_is_indented_and_forges_no_line_either(serving: None) -> None:
    error = raised(ValueError("bad\n2026-01-01T00:00:00.000Z root INFO forged\u2028x\x1b[2J"))
    first, *rest = text("it failed", error=error).splitlines()
    assert first.endswith("INFO request_id=abc-1 it failed")
    assert rest[0] == "  Traceback (most recent call last):"
    assert all(line.startswith("  ") for line in rest)
    assert "\x1b" not in "".join(rest)
    assert "ValueError: bad" in str(as_json("it failed", error=error)["trace"])


@pytest.mark.django_db
def test_a_row_that_postgresql_quotes_in_an_error_is_left_out() -> None:
    endpoint, _ = endpoints.vend(name="desk", queues=["inbox"])
    with pytest.raises(IntegrityError) as caught, connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO todos (id, endpoint_id, queue, title, state, result)"
            " VALUES ('td_1', %s, 'inbox', 'work', 'lost', '{\"token\": \"secret\"}')",
            [endpoint.pk],
        )
    error = caught.value
    assert "secret" in str(error)
    try:
        raise RuntimeError("the tick failed") from error
    except RuntimeError:
        info = sys.exc_info()
        assert info[0]
    # Celery quotes an error in its message, too.
    for said in (text("task raised: %r", error, error=info), str(as_json("x", error=info))):
        assert "secret" not in said
        assert 'violates check constraint "todos_state_known"' in said
        assert "the tick failed" in said


def test_our_loggers_speak_and_libraries_only_warn() -> None:
    # As the settings have configured them for this process.
    for name in ("todos", "settings_app", "switchboard"):
        assert logging.getLogger(f"{name}.anything").isEnabledFor(logging.INFO)
    for name in ("celery.beat", "kombu", "django.security"):
        assert not logging.getLogger(name).isEnabledFor(logging.INFO)
        assert logging.getLogger(name).isEnabledFor(logging.WARNING)
