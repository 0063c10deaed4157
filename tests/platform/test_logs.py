"""The log as an operator reads it: what is in it, and one line per event."""

import logging
import re

from switchboard import logs


def render(name: str, level: int, message: str, *arguments: object) -> str:
    config = logs.config("INFO")
    formatters = config["formatters"]
    assert isinstance(formatters, dict)
    formatter = logs.OneLine(formatters["line"]["format"])
    return formatter.format(logging.LogRecord(name, level, "", 0, message, arguments, None))


def test_a_reap_reads_as_its_documentation_says() -> None:
    line = render("todos.reaper", logging.INFO, "reaped expired leases count=%s", 3)
    stamp, rest = line.split(" ", 1)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", stamp)
    assert rest == "todos.reaper INFO reaped expired leases count=3"


def test_a_line_break_in_what_is_quoted_does_not_begin_a_new_event() -> None:
    line = render("settings_app", logging.WARNING, "value %s", "1\n2026-01-01 root INFO forged\r")
    assert line.endswith(r"value 1\n2026-01-01 root INFO forged\r")
    assert len(line.splitlines()) == 1


def test_our_loggers_speak_and_libraries_only_warn() -> None:
    # As the settings have configured them for this process.
    for name in ("todos", "settings_app", "switchboard"):
        assert logging.getLogger(f"{name}.anything").isEnabledFor(logging.INFO)
    for name in ("celery.beat", "kombu", "django.request"):
        assert not logging.getLogger(name).isEnabledFor(logging.INFO)
        assert logging.getLogger(name).isEnabledFor(logging.WARNING)
