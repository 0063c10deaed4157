"""What the ledger keeps of a claimant's words: label, summary and artifact."""

from typing import Any

import pytest

from tests.factories import OWNER, ledger, make_claim, make_claimed, make_pending
from tests.todos.seen import everything
from todos import transitions
from todos.errors import InvalidInput
from todos.models import Attempt

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("", ""),
        ("worker 7", "worker 7"),
        ("a\0b\nc\td\x1be\x7ff\x85g", "abcdefg"),
        ("x" * 128, "x" * 128),
        ("x" * 129, "x" * 128),
        ("é" * 64, "é" * 64),
        ("é" * 65, "é" * 64),
        ("x" + "é" * 64, "x" + "é" * 63),
        ("€" * 43, "€" * 42),
        ("xx" + "€" * 42, "xx" + "€" * 42),
        ("😀" * 33, "😀" * 32),
        ("xxx" + "😀" * 32, "xxx" + "😀" * 31),
        ("\n" * 500 + "x" * 128, "x" * 128),
    ],
    ids=lambda text: repr(text)[:16],
)
def test_a_claimant_is_cleaned_and_cut_to_128_bytes_on_a_character(given: str, stored: str) -> None:
    claim = make_claim(claimant=given)
    (entry,) = ledger(claim.todo)
    assert entry.claimant == stored
    assert len(entry.claimant.encode()) <= 128


@pytest.mark.parametrize("given", [None, 7, b"worker", ["worker"], "\ud800"])
def test_a_claimant_that_is_no_text_is_refused(given: Any) -> None:
    todo = make_pending()
    before = everything()
    with pytest.raises(InvalidInput, match=r"^claimant: "):
        transitions.claim(todo.endpoint, todo.pk, owner=OWNER, claimant=given)
    assert everything() == before


def ended_with(verb: str, **report: Any) -> Attempt:
    todo = make_claimed()
    getattr(transitions, verb)(todo.endpoint, todo.pk, owner=OWNER, **report)
    (entry,) = ledger(todo)
    return entry


REPORTING = ["complete", "fail", "release"]


@pytest.mark.parametrize("verb", REPORTING)
@pytest.mark.parametrize(
    ("given", "stored", "truncated"),
    [
        ("", "", False),
        ("two\nlines\tand a tab", "two\nlines\tand a tab", False),
        ("a\0b\rc\x1bd\x7f", "abcd", False),
        ("x" * 2048, "x" * 2048, False),
        ("x" * 2049, "x" * 2048, True),
        ("é" * 1024, "é" * 1024, False),
        ("x" + "é" * 1024, "x" + "é" * 1023, True),
        ("€" * 683, "€" * 682, True),
        ("xx" + "€" * 682, "xx" + "€" * 682, False),
        ("xxx" + "😀" * 512, "xxx" + "😀" * 511, True),
        ("\r" * 9 + "x" * 2048, "x" * 2048, False),
    ],
    ids=lambda value: repr(value)[:16],
)
def test_a_summary_is_cleaned_and_cut_to_2048_bytes_on_a_character(
    verb: str, given: str, stored: str, truncated: bool
) -> None:
    entry = ended_with(verb, summary=given)
    assert (entry.summary, entry.summary_truncated) == (stored, truncated)


@pytest.mark.parametrize("verb", ["complete", "fail"])
@pytest.mark.parametrize(
    ("result", "summary", "truncated"),
    [
        ({"b": 1, "a": ["ü", None]}, '{"b":1,"a":["ü",null]}', False),
        (0, "0", False),
        (False, "false", False),
        ("x" * 2046, '"' + "x" * 2046 + '"', False),
        ("x" * 2047, '"' + "x" * 2047, True),
        ("é" * 1024, '"' + "é" * 1023, True),
        (None, None, False),
    ],
    ids=lambda value: repr(value)[:16],
)
def test_without_a_summary_the_compact_json_of_the_result_is_one(
    verb: str, result: Any, summary: str | None, truncated: bool
) -> None:
    entry = ended_with(verb, result=result)
    assert (entry.summary, entry.summary_truncated) == (summary, truncated)


def test_a_summary_wins_over_the_result() -> None:
    assert ended_with("complete", result={"n": 1}, summary="one").summary == "one"


def test_cancel_summarises_its_result_in_the_same_way() -> None:
    todo = make_claimed()
    transitions.cancel(todo.endpoint, todo.pk, result="x" * 3000)
    (entry,) = ledger(todo)
    assert (entry.summary, entry.summary_truncated) == ('"' + "x" * 2047, True)


def refuses(subtests: pytest.Subtests, verb: str, field: str, values: list[Any]) -> None:
    todo = make_claimed()
    before = everything()
    for given in values:
        with subtests.test(ascii(given)[:40]):
            with pytest.raises(InvalidInput, match=f"^{field}: ") as caught:
                getattr(transitions, verb)(todo.endpoint, todo.pk, owner=OWNER, **{field: given})
            assert caught.value.field == field
            assert everything() == before


@pytest.mark.parametrize("verb", REPORTING)
def test_a_summary_that_is_no_text_is_refused(verb: str, subtests: pytest.Subtests) -> None:
    refuses(subtests, verb, "summary", [7, b"done", ["done"], "\udc00"])


LONGEST = "https://example.org/" + "x" * (512 - 20)


@pytest.mark.parametrize("verb", REPORTING)
@pytest.mark.parametrize(
    "given",
    [
        "https://example.org",
        "https://example.org:8443/a/b?c=d#e",
        "https://user@example.org/",
        "https://[2001:db8::1]/",
        "https://exämple.org/ü",
        "HTTPS://EXAMPLE.ORG/",
        "mcp://files/report.pdf",
        "mcp://handle",
        LONGEST,
        None,
    ],
    ids=lambda text: str(text)[:30],
)
def test_an_artifact_is_an_https_url_or_an_mcp_handle(verb: str, given: str | None) -> None:
    assert ended_with(verb, artifact=given).artifact == given


NO_ARTIFACTS: list[Any] = [
    "",
    "example.org",
    "/etc/passwd",
    "http://example.org/",
    "ftp://example.org/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "data:text/html,x",
    "https:",
    "https://",
    "https:///path",
    "https://:443/",
    "https:example.org",
    "https://[::1",
    "mcp:",
    "mcp://",
    "mcp:handle",
    " https://example.org/",
    "https://example.org/a b",
    "https://example.org/\n",
    "https://example.org/\0",
    "https://example.org/\ud800",
    LONGEST + "x",
    "https://example.org/" + "ü" * 247,
    "mcp://" + "x" * 507,
    b"https://example.org/",
    7,
    ["https://example.org/"],
]


@pytest.mark.parametrize("verb", REPORTING)
def test_any_other_artifact_is_refused(verb: str, subtests: pytest.Subtests) -> None:
    refuses(subtests, verb, "artifact", NO_ARTIFACTS)


def test_an_artifact_counts_bytes_and_not_characters() -> None:
    fits = "https://example.org/" + "ü" * 246
    assert len(fits.encode()) == 512
    assert ended_with("complete", artifact=fits).artifact == fits
