"""What saving a setting would do, told by the app that it does it to.

The page shows an effect before it saves. This app knows no other one, so those that have
something to tell register here, as they register their pages.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from django.db import DatabaseError, transaction


class Effect(Protocol):
    @property
    def template(self) -> str:
        """What draws it, as `effect`."""

    @property
    def stylesheet(self) -> str:
        """The static file that its template needs, or nothing."""

    @property
    def summary(self) -> str:
        """The effect in a sentence or two: its numbers are compared by it."""

    @property
    def asks(self) -> bool:
        """Whether it must be confirmed before it is saved."""


Foresee = Callable[[str | None, str | None], Effect]
"""What changing the stored text from one to the other would do now; None: no row."""

_foresee: dict[str, Foresee] = {}


def register(key: str, foresee: Foresee) -> None:
    _foresee[key] = foresee


def foresee(key: str, before: str | None, after: str | None) -> Effect | None:
    """The effect of a change; None: nobody tells of this key."""
    if key not in _foresee:
        return None
    try:
        with transaction.atomic():
            return _foresee[key](before, after)
    except DatabaseError as error:
        # Such as a statement timeout. Whoever must change a setting then has to be able to.
        return Unforeseen(str(error).partition("\n")[0], asks=before != after)


@dataclass(frozen=True)
class Unforeseen:
    cause: str
    asks: bool
    template: str = "admin/settings_app/setting/unforeseen.html"
    stylesheet: str = ""

    @property
    def summary(self) -> str:
        return f"The effect could not be computed: {self.cause}."
