import pytest

from settings_app.registry import (
    ATTEMPT_HISTORY_MAX,
    INTERRUPT_LEASE_TTL,
    RETENTION_MAX_AGE,
    SSE_RETRY,
    TUNABLES,
    Tunable,
    Unit,
)
from settings_app.values import bounds, duration, in_words, parse, quantity, shown

NOT_PLAIN = {
    "empty": "",
    "a space": " ",
    "spaces around": " 60 ",
    "a unit": "24h",
    "a fraction": "60.5",
    "an exponent": "1e5",
    "Arabic digits": "١٢٣",
    "fullwidth digits": "１２３",
    "superscript": "60²",
    "underscore": "1_000",
    "comma": "1,000",
    "newline behind": "60\n",
    "newline before": "\n60",
    "carriage return": "60\r\n",
    "no-break space": "60\u00a0",
    "zero-width space": "60\u200b",
    "byte order mark": "\ufeff60",
    "two lines": "60\n60",
    "hexadecimal": "0x3c",
    "only a sign": "-",
    "two signs": "+-60",
    "sign behind": "60-",
    "sign and space": "- 60",
    "a typographic minus": "−60",
    "infinity": "inf",
    "not a number": "nan",
    "null": "null",
    "true": "true",
    "quoted": '"60"',
    "markup": "<script>alert(1)</script>",
    "garbage": "x" * 5_000,
    "5,000 digits and a letter": "9" * 5_000 + "x",
}


@pytest.mark.parametrize("text", NOT_PLAIN.values(), ids=NOT_PLAIN)
def test_what_is_not_a_plain_integer(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("60", 60),
        ("+60", 60),
        ("-60", -60),
        ("0", 0),
        ("-0", 0),
        ("007", 7),
        ("0" * 5_000 + "60", 60),
        ("-" + "0" * 5_000 + "60", -60),
        ("0" * 5_000, 0),
        ("3155760001", 3_155_760_001),
        ("9" * 30, 10**30 - 1),
    ],
    ids=lambda value: str(value)[:12],
)
def test_plain_integers(text: str, number: int) -> None:
    assert parse(text) == number


@pytest.mark.parametrize("digits", [31, 40, 5_000, 100_000])
def test_digits_beyond_any_bound_keep_their_sign(digits: int) -> None:
    assert parse("9" * digits) == 10**30
    assert parse("-" + "9" * digits) == -(10**30)


@pytest.mark.parametrize(
    ("tunable", "stored", "words"),
    [
        (INTERRUPT_LEASE_TTL, None, "86400 s (24 h), the default"),
        (INTERRUPT_LEASE_TTL, "3600", "3600 s (1 h)"),
        (INTERRUPT_LEASE_TTL, "45", "45 → raised to 60 s (1 min)"),
        (INTERRUPT_LEASE_TTL, "0", "0 → the sweep is off"),
        (INTERRUPT_LEASE_TTL, "-5", "-5 → the sweep is off"),
        (INTERRUPT_LEASE_TTL, "3155760000", "3155760000 s (36525 days)"),
        (INTERRUPT_LEASE_TTL, "3155760001", "3155760001 → never, no wait is ever reclaimed"),
        (INTERRUPT_LEASE_TTL, "abc", "abc → not a number, default 86400 in effect (24 h)"),
        (INTERRUPT_LEASE_TTL, "60\n", r"'60\n' → not a number, default 86400 in effect (24 h)"),
        (INTERRUPT_LEASE_TTL, "", "'' → not a number, default 86400 in effect (24 h)"),
        (SSE_RETRY, "100", "100 → raised to 250 ms"),
        (SSE_RETRY, "60001", "60001 → lowered to 60000 ms (60 s)"),
        (SSE_RETRY, "abc", "abc → not a number, default 3000 in effect (3 s)"),
        (ATTEMPT_HISTORY_MAX, "0", "0 → raised to 5 attempts"),
        (ATTEMPT_HISTORY_MAX, "9" * 12, "999999999999 → unlimited"),
        (RETENTION_MAX_AGE, "1", "1 day"),
        (RETENTION_MAX_AGE, "0", "0 → never by age"),
        (RETENTION_MAX_AGE, "abc", "abc → not a number, default 30 in effect (30 days)"),
    ],
    ids=lambda value: getattr(value, "key", repr(value)),
)
def test_the_value_in_effect_in_words(tunable: Tunable, stored: str | None, words: str) -> None:
    assert in_words(tunable, stored) == words


def test_bounds_name_both_ends_and_what_is_beyond_them() -> None:
    assert bounds(INTERRUPT_LEASE_TTL) == (
        "60 s (1 min) to 3155760000 s (36525 days); 0 or less: the sweep is off; "
        "above that: never, no wait is ever reclaimed"
    )
    assert bounds(SSE_RETRY) == "250 ms to 60000 ms (60 s)"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (5_400, "1 h 30 min"),
        (86_400, "24 h"),
        (129_600, "36 h"),
        (172_799, "47 h 59 min 59 s"),
        (172_800, "2 days"),
        (2_592_000, "30 days"),
        (2_595_661, "30 days 1 h 1 min 1 s"),
        (3_155_760_000, "36525 days"),
    ],
)
def test_seconds_for_people(seconds: int, words: str) -> None:
    assert duration(seconds) == words


def test_a_quantity_of_one_is_singular_where_the_unit_is_a_word() -> None:
    singular = ["1 s", "1 ms", "1 day", "1 attempt", "1 row", "1 per minute"]
    assert [quantity(1, unit) for unit in Unit] == singular


def test_shown_text_is_cut_and_cannot_hide_or_reorder_anything() -> None:
    assert shown("24h") == "24h"
    assert shown("9" * 5_000) == "9" * 40 + "…"
    assert shown(" 60") == "' 60'"
    assert shown("60\u200b") == r"'60\u200b'"
    assert shown("\u202e06") == r"'\u202e06'"
    assert shown("١٢٣") == "\u2068١٢٣\u2069"


@pytest.mark.parametrize("tunable", TUNABLES.values(), ids=TUNABLES)
def test_every_number_has_words(tunable: Tunable) -> None:
    for stored in (None, "0", "-1", "1", "9" * 5_000, "x"):
        assert in_words(tunable, stored).strip(" →")
