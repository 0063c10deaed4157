"""Saving, clearing and two operators at once, through the pages."""

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from settings_app.registry import TUNABLES
from tests.settings_app.conftest import StoreRow
from tests.settings_app.pages import TTL, change_url, opened, save, stored, text
from tests.settings_app.test_values import NOT_PLAIN

pytestmark = pytest.mark.django_db

# What the form strips, as people paste it, and then takes.
PASTED = {"spaces around", "newline behind", "newline before", "carriage return", "no-break space"}
ACCEPTED = (
    "Not a whole number in plain digits, such as 86400, or one with its unit, such as 45s, 90m, "
    "36h or 2d. Allowed: 60 s (1 min) to 3155760000 s"
)
# What leaves the field empty, which restores the default.
BLANK = {"empty", "a space"}


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        (TTL, "60", "60 s (1 min)"),
        (TTL, "3155760000", "3155760000 s (36525 days)"),
        (TTL, "0", "the sweep is off"),
        (TTL, "-1", "the sweep is off"),
        (TTL, "3155760001", "never, no wait is ever reclaimed"),
        (TTL, "9" * 40, "never, no wait is ever reclaimed"),
        ("sse_retry_ms", "250", "250 ms"),
        ("sse_retry_ms", "60000", "60000 ms (60 s)"),
        ("attempt_history_max_per_todo", "5", "5 attempts"),
        ("attempt_history_max_per_todo", "1000000001", "unlimited"),
        ("retention_max_age_days", "0", "never by age"),
        ("retention_max_rows", "0", "never by count"),
        ("dead_letter_max_age_days", "0", "never"),
        ("create_rate_per_minute", "0", "no limit"),
        ("create_rate_per_minute", "60", "60 per minute"),
    ],
)
def test_a_legal_value_is_saved_and_its_effect_said(
    key: str, value: str, words: str, operator: Client
) -> None:
    page = text(save(operator, value, key))
    default = TUNABLES[key].default
    assert f"Saved {key}. Changed from the default {default} to {value}: {words}" in page
    assert stored(key) == value


@pytest.mark.parametrize(
    ("key", "value", "bounds"),
    [
        (TTL, "1", "60 s (1 min) to 3155760000 s"),
        (TTL, "59", "0 or less: the sweep is off"),
        ("sse_retry_ms", "0", "250 ms to 60000 ms"),
        ("sse_retry_ms", "249", "250 ms to 60000 ms"),
        ("sse_retry_ms", "60001", "250 ms to 60000 ms"),
        ("sse_retry_ms", "9" * 5_000, "250 ms to 60000 ms"),
        ("attempt_history_max_per_todo", "4", "5 attempts to 1000000000 attempts"),
        ("attempt_history_max_per_todo", "-1", "5 attempts to 1000000000 attempts"),
        (TTL, "9" * 41, "More than 40 digits. Allowed: 60 s"),
        (TTL, "-" + "9" * 5_000, "More than 40 digits. Allowed: 60 s"),
    ],
    ids=lambda value: value[:20],
)
def test_a_value_that_reading_would_change_is_refused_with_the_bounds(
    key: str, value: str, bounds: str, operator: Client
) -> None:
    page = text(save(operator, value, key))
    assert bounds in page
    assert "Please correct the error below." in page
    assert stored(key) is None
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize("name", sorted(NOT_PLAIN.keys() - PASTED - BLANK - {"a unit"}))
def test_anything_else_is_refused_with_what_is_accepted(name: str, operator: Client) -> None:
    response = save(operator, NOT_PLAIN[name])
    assert ACCEPTED in text(response)
    assert b"<script>alert" not in response.content
    assert stored() is None


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [("120s", "120"), ("90m", "5400"), ("36h", "129600"), ("2d", "172800"), (" 036h ", "129600")],
)
def test_a_duration_is_stored_as_seconds(typed: str, seconds: str, operator: Client) -> None:
    page = text(save(operator, typed))
    assert f"Changed from the default 86400 to {seconds}: {seconds} s (" in page
    assert stored() == seconds


@pytest.mark.parametrize("typed", ["0s", "0h"])
def test_no_time_at_all_switches_off(typed: str, operator: Client) -> None:
    assert "the sweep is off" in text(save(operator, typed))
    assert stored() == "0"


@pytest.mark.parametrize("typed", ["45s", "45", "1"])
def test_a_refusal_below_the_floor_says_what_would_count(typed: str, operator: Client) -> None:
    assert "Out of bounds: it would be raised to 60 s (1 min)." in text(save(operator, typed))
    assert stored() is None


@pytest.mark.parametrize(
    "typed", ["36 h", "36H", "1h30m", "1.5h", "-1h", "+1h", "h", "1w", "٣h", "24h\n1"]
)
def test_any_other_duration_is_refused_with_the_accepted_forms(
    typed: str, operator: Client
) -> None:
    assert ACCEPTED in text(save(operator, typed))
    assert stored() is None


@pytest.mark.parametrize("key", sorted(TUNABLES.keys() - {TTL}))
def test_a_key_that_is_not_in_seconds_takes_no_unit(key: str, operator: Client) -> None:
    page = text(save(operator, "2d", key))
    assert f"Not a whole number in plain digits, such as {TUNABLES[key].default}. Allowed" in page
    assert "36h" not in page
    assert stored(key) is None


@pytest.mark.parametrize("name", sorted(PASTED))
def test_space_around_a_pasted_number_is_not_stored(name: str, operator: Client) -> None:
    save(operator, NOT_PLAIN[name])
    assert stored() == "60"


def test_a_nul_character_is_refused(operator: Client) -> None:
    assert "Null characters are not allowed." in text(save(operator, "60\x00"))
    assert stored() is None


@pytest.mark.parametrize("value", ["", "   "])
def test_clearing_restores_the_default(value: str, operator: Client, store: StoreRow) -> None:
    store(TTL, "3600")
    page = text(save(operator, value))
    assert f"Saved {TTL}. Changed from 3600 to the default 86400: 86400 s (24 h)" in page
    assert stored() is None


def test_an_empty_row_is_cleared_too(operator: Client, store: StoreRow) -> None:
    store(TTL, "")
    save(operator, "")
    assert stored() is None
    assert LogEntry.objects.get().change_message.startswith("Changed from '' to the default")


@pytest.mark.parametrize("value", ["", "3600"])
def test_saving_what_is_there_is_no_history(value: str, operator: Client, store: StoreRow) -> None:
    if value:
        store(TTL, value)
    assert f"No change of {TTL}." in text(save(operator, value))
    assert not LogEntry.objects.exists()


def test_save_and_continue_stays_on_the_page(operator: Client) -> None:
    response = save(operator, "3600", _continue="1")
    assert response.request["PATH_INFO"] == change_url()
    assert "3600 s (1 h)" in text(response)


@pytest.mark.parametrize("junk", ["9" * 5_000, "x" * 5_000, "24 h", "١٢٣"], ids=lambda v: v[:5])
def test_junk_saved_unseen_is_refused(junk: str, operator: Client, store: StoreRow) -> None:
    store(TTL, junk)
    fields = opened(operator)
    assert len(fields["value"]) < 50
    response = operator.post(change_url(), fields)
    assert "Not a whole number" in text(response)
    assert stored() == junk


def test_a_refused_form_still_says_what_is_stored(operator: Client, store: StoreRow) -> None:
    store(TTL, "3600")
    response = save(operator, "7")
    assert "3600 s (1 h)" in text(response)
    assert b'value="7"' in response.content


@pytest.mark.parametrize(("before", "theirs"), [(None, "7200"), ("3600", "7200"), ("3600", "")])
@pytest.mark.parametrize("ours", ["1800", ""])
def test_the_later_of_two_saves_is_told_and_not_obeyed(
    before: str | None,
    theirs: str,
    ours: str,
    operator: Client,
    colleague: Client,
    store: StoreRow,
) -> None:
    if before:
        store(TTL, before)
    fields = opened(operator)
    save(colleague, theirs)
    response = operator.post(change_url(), {**fields, "value": ours})
    page = text(response)
    assert "Not saved: someone else changed this setting while the page was open." in page
    assert f"It was set to {theirs or 'the default 86400'}" in page
    assert stored() == (theirs or None)
    # The stored value that the page shows is theirs, and a second save is a decision.
    assert ("7200 s (2 h)" if theirs else "86400 s (24 h), the default") in page
    form = response.context["adminform"].form
    again = {name: form[name].value() for name in form.fields}
    operator.post(change_url(), again)
    assert stored() == (ours or None)


def test_a_row_changed_in_sql_counts_as_someone_else(operator: Client, store: StoreRow) -> None:
    fields = opened(operator)
    store(TTL, "7200")
    assert "Not saved" in text(operator.post(change_url(), {**fields, "value": "60"}))
    assert stored() == "7200"


def test_a_request_that_opened_no_page_overwrites(operator: Client, store: StoreRow) -> None:
    store(TTL, "3600")
    operator.post(change_url(), {"value": "7200"})
    assert stored() == "7200"
    assert LogEntry.objects.get().change_message.startswith("Changed from 3600 to 7200")


def test_a_request_without_a_value_clears_nothing(operator: Client, store: StoreRow) -> None:
    store(TTL, "3600")
    assert "No value was sent." in text(operator.post(change_url(), {}))
    assert stored() == "3600"
