"""The log: one event, one line, with the id of the request that it belongs to.

What somebody else may have chosen cannot begin a line, nor stand where a key is read: keys of ours
come before the message, control characters are escaped, and a traceback is indented.
"""

import json
import logging
import re
import time
import traceback
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import django.db
import psycopg

from todos import tracing
from todos.errors import first_line

FORMATS = ("text", "json")

# Control characters, line separators, and the marks that reverse the direction of a text.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


class Text(logging.Formatter):
    """`<time in UTC> <logger> <LEVEL> [request_id=…] <message>`; a traceback follows, indented."""

    def format(self, record: logging.LogRecord) -> str:
        message, trace = _said(record)
        request_id = tracing.request_id()
        keys = f"request_id={request_id} " if request_id else ""
        line = f"{_stamp(record)} {record.name} {record.levelname} {keys}{message}"
        lines = [line, *(f"  {each}" for each in trace.splitlines())]
        return "\n".join(_UNSAFE.sub(_written_out, each) for each in lines)


class Json(logging.Formatter):
    """One object per event; the values of a message are keys of their own beside it."""

    def format(self, record: logging.LogRecord) -> str:
        message, trace = _said(record)
        event: dict[str, Any] = dict(record.args) if isinstance(record.args, Mapping) else {}
        event |= {
            "time": _stamp(record),
            "logger": record.name,
            "level": record.levelname,
            "message": message,
        }
        if request_id := tracing.request_id():
            event["request_id"] = request_id
        if trace:
            event["trace"] = trace
        return json.dumps(event, default=str)


def config(level: str, form: str) -> dict[str, object]:
    ours = {"level": level, "propagate": True}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"text": {"()": Text}, "json": {"()": Json}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": form}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            "todos": ours,
            "settings_app": ours,
            "switchboard": ours,
            # Django's own handlers would print some events a second time, or mail them to nobody.
            "django": {"handlers": [], "level": "WARNING", "propagate": True},
            "django.server": {"handlers": [], "level": "INFO", "propagate": True},
            # Its warnings are the 4xx, which have their line; its errors bring the traceback.
            "django.request": {"level": "ERROR"},
            # uvicorn has set itself up by now, and would write lines of another form.
            "uvicorn": {"handlers": [], "level": "INFO", "propagate": True},
            "uvicorn.error": {"handlers": [], "level": "INFO", "propagate": True},
            # Ours replace its, which show the query; it writes none when it finds no handler.
            "uvicorn.access": {"handlers": [], "level": "WARNING", "propagate": False},
        },
    }


def _written_out(unsafe: re.Match[str]) -> str:
    return ascii(unsafe[0])[1:-1]


def _stamp(record: logging.LogRecord) -> str:
    return f"{_second(int(record.created))}.{int(record.msecs):03d}Z"


@lru_cache(maxsize=1)
def _second(since_epoch: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(since_epoch))


def _said(record: logging.LogRecord) -> tuple[str, str]:
    """The message and the traceback, without the rows that PostgreSQL quotes in its errors."""
    message, trace = record.getMessage(), record.stack_info or ""
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return message, trace
    trace = "".join(traceback.format_exception(error)) + trace
    for quoting in _database_errors(error):
        whole, brief = str(quoting), first_line(quoting)
        # Celery puts an error into its message by its repr().
        for old, new in ((whole, brief), (repr(whole)[1:-1], repr(brief)[1:-1])):
            message, trace = message.replace(old, new), trace.replace(old, new)
    return message, trace


def _database_errors(error: BaseException) -> Iterator[BaseException]:
    """Those of the database among an error and the ones behind it."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, psycopg.Error | django.db.Error):
            yield each
        waiting += [each.__cause__, each.__context__]
        if isinstance(each, BaseExceptionGroup):
            waiting += each.exceptions
