import logging

from django.apps import AppConfig


class SwitchboardConfig(AppConfig):
    name = "switchboard"

    def ready(self) -> None:
        from switchboard import checks  # noqa: F401

        # Python's warnings are events of the log, too, and no lines of another form beside it.
        logging.captureWarnings(True)
