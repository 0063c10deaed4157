"""The value in effect of each setting, read from its row every time (the domain: Settings).

So a change counts at the next read, in every process. Each reader is one query, writes nothing
and works inside or outside a transaction. A bad value never raises: it is warned of once per
process, and the default counts, because a typo must never stop a sweep.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from threading import Lock
from typing import cast

from settings_app import registry
from settings_app.models import Setting
from settings_app.registry import TUNABLES, Tunable
from settings_app.values import InEffect, Verdict, in_words, interpret, quantity, shown

logger = logging.getLogger(__name__)

_LOGGED_CHARACTERS = 100
_MAX_WARNED = 1_000
_warned: set[tuple[str, bytes]] = set()
_warned_lock = Lock()


def interrupt_lease_ttl() -> timedelta | None:
    """How long a wait may last, 60 s to 100 years; None: the sweep is off, or "never"."""
    seconds = in_effect(registry.INTERRUPT_LEASE_TTL).number
    return None if seconds is None else timedelta(seconds=seconds)


def sse_retry_ms() -> int:
    """The streams' `retry:` hint in milliseconds, 250 to 60000."""
    # Both its ends are clamped, so there is always a number.
    return cast(int, in_effect(registry.SSE_RETRY).number)


def attempt_history_max_per_todo() -> int | None:
    """How many attempts of one todo are kept, at least 5; None: unlimited."""
    return in_effect(registry.ATTEMPT_HISTORY_MAX).number


def retention_max_age_days() -> int | None:
    """The age in days past which done, canceled and rejected todos go; None: never by age."""
    return in_effect(registry.RETENTION_MAX_AGE).number


def retention_max_rows() -> int | None:
    """How many of the newest done, canceled and rejected todos stay; None: never by count."""
    return in_effect(registry.RETENTION_MAX_ROWS).number


def dead_letter_max_age_days() -> int | None:
    """The age in days past which dead letters go; None: never."""
    return in_effect(registry.DEAD_LETTER_MAX_AGE).number


def create_rate_per_minute() -> int | None:
    """How many todos each endpoint may create over HTTP in a minute; None: no limit."""
    return in_effect(registry.CREATE_RATE).number


def in_effect(tunable: Tunable) -> InEffect:
    """The number that counts now, in the tunable's unit, and how it came about."""
    stored = _stored([tunable.key]).get(tunable.key)
    effect = interpret(tunable, stored)
    if stored is not None and effect.verdict is Verdict.NOT_A_NUMBER:
        _warn_once(tunable, stored)
    return effect


@dataclass(frozen=True)
class Report:
    """One setting as people are shown it; `stored` None: there is no row."""

    tunable: Tunable
    stored: str | None
    words: str

    @property
    def default(self) -> str:
        return quantity(self.tunable.default, self.tunable.unit)

    @property
    def shown(self) -> str:
        return "—" if self.stored is None else shown(self.stored)

    @property
    def reinterpreted(self) -> bool:
        """Whether another number than the stored one counts: somebody should look."""
        verdict = interpret(self.tunable, self.stored).verdict
        return verdict in (Verdict.RAISED, Verdict.LOWERED, Verdict.NOT_A_NUMBER)


def report(key: str) -> Report:
    """What is stored for a known key and what that means in words; KeyError if unknown."""
    return _report(TUNABLES[key], _stored([key]).get(key))


def report_all() -> list[Report]:
    """The same of every known key, in the registry's order, by one query."""
    stored = _stored(TUNABLES)
    return [_report(tunable, stored.get(key)) for key, tunable in TUNABLES.items()]


def _report(tunable: Tunable, stored: str | None) -> Report:
    return Report(tunable, stored, in_words(tunable, stored))


def _stored(keys: Iterable[str]) -> dict[str, str]:
    rows = Setting.objects.filter(pk__in=list(keys))
    return dict(rows.values_list("key", "value"))


def _warn_once(tunable: Tunable, stored: str) -> None:
    # A digest, since a value may be of any length; emptied when full, since anybody may write
    # a new bad value every second.
    mark = (tunable.key, sha256(stored.encode()).digest())
    with _warned_lock:
        if mark in _warned:
            return
        if len(_warned) >= _MAX_WARNED:
            _warned.clear()
        _warned.add(mark)
    text = repr(stored[:_LOGGED_CHARACTERS]) + ("…" if len(stored) > _LOGGED_CHARACTERS else "")
    logger.warning(
        "settings row %s: %s is not a plain whole number; the default %d is in effect",
        tunable.key,
        text,
        tunable.default,
    )
