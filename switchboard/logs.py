import logging
import time


class OneLine(logging.Formatter):
    """One event, one line, whatever it quotes; only a traceback adds lines. Times are UTC."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return super().formatMessage(record).replace("\r", "\\r").replace("\n", "\\n")


def config(level: str) -> dict[str, object]:
    ours = {"level": level, "propagate": True}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {"()": OneLine, "format": "%(asctime)s %(name)s %(levelname)s %(message)s"}
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            "todos": ours,
            "settings_app": ours,
            "switchboard": ours,
            # Django's own handlers would print some events a second time, or mail them to nobody.
            "django": {"handlers": [], "level": "WARNING", "propagate": True},
            "django.server": {"handlers": [], "level": "INFO", "propagate": True},
        },
    }
