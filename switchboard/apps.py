from django.apps import AppConfig


class SwitchboardConfig(AppConfig):
    name = "switchboard"

    def ready(self) -> None:
        from switchboard import checks  # noqa: F401
