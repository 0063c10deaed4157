"""What a stored text means: pure functions over the registry (the domain: Settings)."""

import re
from dataclasses import dataclass
from enum import Enum, auto

from settings_app.registry import Tunable, Unit

# [0-9] and not \d, which takes every script's digits; fullmatch and not $, which forgives a
# newline at the end.
_INTEGER = re.compile(r"([+-]?)([0-9]+)")
_MAX_DIGITS = 30
_HUGE = 10**_MAX_DIGITS
_SHOWN_CHARACTERS = 40
_DAY = 86_400
_DURATION = re.compile(r"([0-9]+)([smhd])")
_SECONDS_IN = {"s": 1, "m": 60, "h": 3_600, "d": _DAY}


class Verdict(Enum):
    """How a stored value came to be the one in effect."""

    DEFAULT = auto()
    AS_STORED = auto()
    RAISED = auto()
    LOWERED = auto()
    OFF = auto()
    BEYOND = auto()
    NOT_A_NUMBER = auto()


@dataclass(frozen=True)
class InEffect:
    """The number that counts, in the key's unit; None: no limit, for the reason in `verdict`."""

    number: int | None
    verdict: Verdict


def parse(text: str) -> int | None:
    """A plain ASCII decimal integer, or None for anything else (the domain: Settings).

    Beyond 30 digits ±10**30 stands in: no bound is near, and Python refuses to convert texts
    of more than 4,300 digits.
    """
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    digits = match[2].lstrip("0") or "0"
    number = _HUGE if len(digits) > _MAX_DIGITS else int(digits)
    return -number if match[1] == "-" else number


def typed(tunable: Tunable, text: str) -> str | None:
    """What to store for what a person typed, None for neither a number nor a duration.

    `36h` is 129600 for a key in seconds. In a stored text a reader takes no unit.
    """
    if parse(text) is not None:
        return text
    match = _DURATION.fullmatch(text) if tunable.unit is Unit.SECONDS else None
    if match is None:
        return None
    return str((parse(match[1]) or 0) * _SECONDS_IN[match[2]])


def accepted(tunable: Tunable) -> str:
    """What `typed` takes, in words."""
    words = f"a whole number in plain digits, such as {tunable.default}"
    if tunable.unit is Unit.SECONDS:
        words += ", or one with its unit, such as 45s, 90m, 36h or 2d"
    return words


def interpret(tunable: Tunable, stored: str | None) -> InEffect:
    """What a stored text, or None for an absent row, makes of this key; never an error."""
    if stored is None:
        return InEffect(tunable.default, Verdict.DEFAULT)
    number = parse(stored)
    if number is None:
        return InEffect(tunable.default, Verdict.NOT_A_NUMBER)
    if number <= 0 and tunable.off:
        return InEffect(None, Verdict.OFF)
    if number < tunable.floor:
        return InEffect(tunable.floor, Verdict.RAISED)
    if number <= tunable.ceiling:
        return InEffect(number, Verdict.AS_STORED)
    if tunable.beyond:
        return InEffect(None, Verdict.BEYOND)
    return InEffect(tunable.ceiling, Verdict.LOWERED)


def in_words(tunable: Tunable, stored: str | None) -> str:
    """The value in effect for people: `45 → raised to 60 s (1 min)`, `0 → the sweep is off`."""
    words = meaning(tunable, stored)
    if stored is None:
        return f"{words}, the default"
    as_stored = interpret(tunable, stored).verdict is Verdict.AS_STORED
    return words if as_stored else f"{shown(stored)} → {words}"


def meaning(tunable: Tunable, stored: str | None) -> str:
    """The part after the arrow; it tells off from never, which are both None to a reader."""
    effect = interpret(tunable, stored)
    if effect.number is None:
        return tunable.off if effect.verdict is Verdict.OFF else tunable.beyond
    amount = quantity(effect.number, tunable.unit)
    match effect.verdict:
        case Verdict.RAISED:
            return f"raised to {amount}"
        case Verdict.LOWERED:
            return f"lowered to {amount}"
        case Verdict.NOT_A_NUMBER:
            people = for_people(effect.number, tunable.unit)
            return f"not a number, default {effect.number} in effect ({people})"
        case _:
            return amount


def bounds(tunable: Tunable) -> str:
    """What may be stored, in words, for forms and their errors."""
    floor, ceiling = (quantity(n, tunable.unit) for n in (tunable.floor, tunable.ceiling))
    words = f"{floor} to {ceiling}"
    if tunable.off:
        words += f"; 0 or less: {tunable.off}"
    if tunable.beyond:
        words += f"; above that: {tunable.beyond}"
    return words


def quantity(number: int, unit: Unit) -> str:
    """A number with its unit, and for people where that differs: `86400 s (24 h)`, `30 days`."""
    people = for_people(number, unit)
    clock = unit in (Unit.SECONDS, Unit.MILLISECONDS)
    exact = f"{number} {unit}"
    return f"{exact} ({people})" if clock and people != exact else people


def for_people(number: int, unit: Unit) -> str:
    match unit:
        case Unit.SECONDS:
            return duration(number)
        case Unit.MILLISECONDS if number >= 1000:
            return f"{number / 1000:g} s"
        case Unit.DAYS | Unit.ATTEMPTS | Unit.ROWS if number == 1:
            return f"1 {unit.removesuffix('s')}"
        case _:
            return f"{number} {unit}"


def duration(seconds: int) -> str:
    """Whole seconds ≥ 0 for people: `24 h`, `1 h 30 min`, `30 days`; hours up to two days."""
    days, rest = divmod(seconds, _DAY) if seconds >= 2 * _DAY else (0, seconds)
    minutes, second = divmod(rest, 60)
    hours, minute = divmod(minutes, 60)
    parts = [
        f"{amount} {unit}"
        for amount, unit in ((days, "days"), (hours, "h"), (minute, "min"), (second, "s"))
        if amount
    ]
    return " ".join(parts) or "0 s"


def roughly(seconds: float) -> str:
    """An age for people, in its two largest units: `2 days 3 h`, `5 min 10 s`."""
    return " ".join(duration(max(0, int(seconds))).split()[:4])


def shown(text: str) -> str:
    """A stored text made safe to read: cut, invisible characters spelt out, direction isolated.

    It may hold anything that SQL can write; escaping for HTML is the template's.
    """
    start = text[:_SHOWN_CHARACTERS]
    cut = start if start == text else f"{start}…"
    if not text or text != text.strip() or not start.isprintable():
        return repr(cut)
    # Right-to-left letters would otherwise reorder the words around them.
    return cut if start.isascii() else f"\u2068{cut}\u2069"
