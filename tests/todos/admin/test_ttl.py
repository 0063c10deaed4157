"""The page of the interrupt TTL: preview, confirmation, save, and then the tick."""

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from settings_app import seen
from settings_app.models import Setting
from tests.factories import age, copies, make_endpoint, make_waiting
from tests.settings_app.pages import TTL, change_url, opened, stored, text
from tests.todos.admin.conftest import client_of
from tests.todos.admin.pages import HOSTILE, page_of
from todos import reaper
from todos.models import Attempt, Endpoint, Todo

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
ASKS = "Save this change?"
HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)">')
TWO = "2 waits become due at the next tick: 1 goes back to pending, 1 becomes a dead letter."


@pytest.fixture
def operator(db: None) -> Client:
    return client_of("operator", "view_setting", "change_setting", "view_todo")


@pytest.fixture
def viewer(db: None) -> Client:
    return client_of("viewer", "view_setting")


@pytest.fixture
def desk(db: None) -> Endpoint:
    return make_endpoint()


@pytest.fixture
def waits(desk: Endpoint) -> list[Todo]:
    """Two hours old, three hours old at its last attempt, and a young one."""
    return [
        make_waiting(endpoint=desk, queue="reviews", age=2 * HOUR),
        make_waiting(endpoint=desk, max_attempts=1, age=3 * HOUR),
        make_waiting(endpoint=desk),
    ]


def store(value: str) -> None:
    Setting.objects.update_or_create(key=TTL, defaults={"value": value})


def hidden(response: Any) -> dict[str, str]:
    found = HIDDEN.findall(response.content.decode())
    return {name: html.unescape(value) for name, value in found}


def preview(client: Client, value: str, **fields: str) -> Any:
    response = client.post(
        change_url(), {**opened(client), "value": value, "_preview": "Preview", **fields}
    )
    assert response.status_code == 200
    return response


def save(client: Client, value: str, **fields: str) -> Any:
    """Save from the page as it was opened, without a preview."""
    return client.post(change_url(), {**opened(client), "value": value, **fields}, follow=True)


def confirm(client: Client, asked: Any) -> Any:
    assert ASKS in text(asked)
    return client.post(change_url(), {**hidden(asked), "_save": "yes"}, follow=True)


def test_the_open_page_says_what_waits_now(
    operator: Client, viewer: Client, waits: list[Todo]
) -> None:
    store("9000")
    for client in (operator, viewer):
        page = text(client.get(change_url()))
        assert "What waits now With 9000 s (2 h 30 min): 1 wait is due at the next tick" in page
        assert "Oldest: 3 h" in page
        assert "queue inbox , holder ada ." in page
        assert "Deadline: 9000 s (2 h 30 min)" in page


def test_a_preview_tells_and_saves_nothing(operator: Client, waits: list[Todo]) -> None:
    page = text(preview(operator, "1h"))
    assert f"What the new value would do now With 3600 s (1 h): {TWO}" in page
    assert "New deadline: 3600 s (1 h)" in page
    assert "Present deadline: 86400 s (24 h)" in page
    assert stored() is None
    assert not LogEntry.objects.exists()
    assert ASKS not in page


def test_the_preview_keeps_what_was_typed(operator: Client) -> None:
    assert b'value="1h"' in preview(operator, "1h").content


def test_what_is_due_already_is_told_apart(operator: Client, waits: list[Todo]) -> None:
    age(waits[0], interrupted_at=30 * HOUR)
    page = text(preview(operator, "3600"))
    assert "2 waits become due at the next tick (1 of them is due already): 1 goes back" in page
    assert "Queue Waits Due already Newly due To pending To dead letters Oldest" in page
    assert "reviews 1 1 0 1 0 32 h" in page
    assert "inbox 2 0 1 0 1 3 h" in page
    assert re.search(r"3 h to 6 h 1 newly due .* 24 h to 2 days 1 due already", page)


@pytest.mark.parametrize(
    ("before", "typed", "words"),
    [
        ("86400", "0", "With 0 → the sweep is off: 3 waits have no deadline any more."),
        ("86400", "-7", "With -7 → the sweep is off: 3 waits have no deadline any more."),
        ("86400", "40000d", "never, no wait is ever reclaimed: 3 waits have no deadline any more."),
        ("86400", "45", "With 45 → raised to 60 s (1 min): 2 waits become due"),
        ("3600", "", "With 86400 s (24 h), the default: No wait is due at the next tick; 3 waits"),
        ("3600", "", "2 waits that are due now are due no longer, unless a tick comes before"),
        ("0", "", "No wait is due at the next tick; 3 waits go on. 3 waits get a deadline that"),
    ],
)
def test_what_will_really_be_in_effect_is_said(
    before: str, typed: str, words: str, operator: Client, waits: list[Todo]
) -> None:
    store(before)
    assert words in text(preview(operator, typed))
    assert stored() == before


@pytest.mark.parametrize("value", ["36 h", "1.5h", "<script>alert(1)</script>", "x" * 5_000])
def test_a_preview_of_junk_says_what_is_accepted_and_what_is_now(
    value: str, operator: Client, waits: list[Todo]
) -> None:
    for alone in ("Preview", "alone"):
        response = preview(operator, value, _preview=alone)
        page = text(response)
        assert "such as 45s, 90m, 36h or 2d. Allowed: 60 s" in page
        assert "With 86400 s (24 h), the default: No wait is due" in page
        assert b"<script>alert" not in response.content


def test_a_preview_alone_is_the_effect_without_the_page(
    operator: Client, waits: list[Todo]
) -> None:
    response = preview(operator, "3600", _preview="alone")
    assert TWO in text(response)
    assert b"<html" not in response.content
    assert b"csrfmiddlewaretoken" not in response.content


def test_preview_confirm_save_tick(operator: Client, waits: list[Todo]) -> None:
    previewed = preview(operator, "3600")
    asked = client_saves(operator, previewed, "3600")
    page = text(asked)
    assert f"With 3600 s (1 h): {TWO}" in page
    assert "changes from the default 86400 to 3600: 3600 s (1 h). Nothing is saved yet." in page
    assert "have changed since" not in page
    assert stored() is None
    done = text(confirm(operator, asked))
    assert f"Saved {TTL}. Changed from the default 86400 to 3600: 3600 s (1 h). {TWO}" in done
    assert stored() == "3600"
    entry = LogEntry.objects.get()
    assert entry.change_message == "Changed from the default 86400 to 3600: 3600 s (1 h)"
    assert reaper.reap_expired() == 2
    ends = Attempt.objects.filter(outcome="reaped").values_list("todo_id", "disposition")
    assert set(ends) == {(waits[0].pk, "requeued"), (waits[1].pk, "dead_lettered")}


def client_saves(client: Client, page: Any, value: str) -> Any:
    """Save, pressed on a page that was previewed."""
    form = page.context["adminform"].form
    fields = {name: form[name].value() or "" for name in form.fields}
    return client.post(change_url(), {**fields, **hidden(page), "value": value}, follow=True)


def test_a_save_without_a_preview_asks_as_well(operator: Client, waits: list[Todo]) -> None:
    asked = save(operator, "3600")
    assert TWO in text(asked)
    confirm(operator, asked)
    assert stored() == "3600"


@pytest.mark.parametrize("value", ["0", "-1", "40000d"])
def test_giving_up_deadlines_asks(value: str, operator: Client, waits: list[Todo]) -> None:
    asked = save(operator, value)
    assert "3 waits have no deadline any more." in text(asked)
    assert stored() is None
    confirm(operator, asked)
    assert reaper.reap_expired() == 0


def test_a_change_of_words_alone_does_not_ask(operator: Client, waits: list[Todo]) -> None:
    """Junk in the row counts as the default, and so does no row."""
    age(waits[0], interrupted_at=30 * HOUR)
    store("7d")
    assert f"Saved {TTL}" in text(save(operator, ""))
    assert stored() is None


def test_clearing_asks_if_it_makes_anything_due(operator: Client, waits: list[Todo]) -> None:
    age(waits[0], interrupted_at=30 * HOUR)
    store("0")
    asked = save(operator, "")
    assert "With 86400 s (24 h), the default: 1 wait becomes due at the next tick" in text(asked)
    assert stored() == "0"
    confirm(operator, asked)
    assert stored() is None


@pytest.mark.parametrize(
    ("before", "value"), [("86400", "172800"), ("86400", "5h"), ("0", "-1"), ("3600", "7000")]
)
def test_a_change_that_makes_nothing_due_is_saved_at_once(
    before: str, value: str, operator: Client, waits: list[Todo]
) -> None:
    store(before)
    assert f"Saved {TTL}" in text(save(operator, value))
    assert stored() != before


def test_nothing_is_asked_where_nothing_waits(operator: Client) -> None:
    assert f"Saved {TTL}" in text(save(operator, "0"))
    assert stored() == "0"


def test_numbers_that_changed_since_the_preview_are_said(
    operator: Client, desk: Endpoint, waits: list[Todo]
) -> None:
    previewed = preview(operator, "3600")
    make_waiting(endpoint=desk, age=5 * HOUR)
    page = text(client_saves(operator, previewed, "3600"))
    assert f"The numbers have changed since they were shown to you. Then: “{TWO}”" in page
    assert "3 waits become due at the next tick: 2 go back to pending, 1 becomes" in page


def test_the_preview_of_another_value_is_no_yardstick(operator: Client, waits: list[Todo]) -> None:
    previewed = preview(operator, "9000")
    assert "have changed since" not in text(client_saves(operator, previewed, "3600"))


def test_a_confirmation_counts_for_what_it_was_given(operator: Client, waits: list[Todo]) -> None:
    asked = save(operator, "9000")
    fields = {**hidden(asked), "value": "3600"}
    assert TWO in text(operator.post(change_url(), fields, follow=True))
    assert stored() is None
    for mark in ("", "junk", hidden(asked)["seen"] + "x"):
        fields = {**hidden(asked), "seen": mark}
        assert ASKS in text(operator.post(change_url(), fields, follow=True))
    assert stored() is None


def test_a_confirmation_does_not_count_for_ever(
    operator: Client, waits: list[Todo], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = save(operator, "3600")
    monkeypatch.setattr(seen, "VALID_SECONDS", -1)
    again = confirm(operator, asked)
    assert "Not saved: too long after the numbers were shown to you." in text(again)
    assert stored() is None
    monkeypatch.undo()
    confirm(operator, again)
    assert stored() == "3600"


def test_back_to_the_form_keeps_the_value(operator: Client, waits: list[Todo]) -> None:
    asked = save(operator, "3600")
    fields = {**hidden(asked), "_preview": "No, back to the form"}
    response = operator.post(change_url(), fields)
    assert b'name="value" value="3600"' in response.content
    assert ASKS not in text(response)
    assert stored() is None


def test_save_and_continue_survives_the_confirmation(operator: Client, waits: list[Todo]) -> None:
    response = confirm(operator, save(operator, "3600", _continue="1"))
    assert response.request["PATH_INFO"] == change_url()
    assert "2 waits are due at the next tick" in text(response)


def test_a_colleagues_change_stops_a_confirmation(operator: Client, waits: list[Todo]) -> None:
    asked = save(operator, "3600")
    store("7200")
    page = text(confirm(operator, asked))
    assert "Not saved: someone else changed this setting while the page was open." in page
    assert stored() == "7200"


def test_the_viewer_sees_the_effect_and_can_ask_for_no_other(
    viewer: Client, waits: list[Todo]
) -> None:
    response = viewer.get(change_url())
    assert "What waits now" in text(response)
    assert b"_preview" not in response.content
    assert b"preview.js" not in response.content
    assert page_of(waits[1]) not in response.content.decode()
    for extra in ({"_preview": "alone"}, {"_confirm": "yes"}, {}):
        assert viewer.post(change_url(), {"value": "3600", **extra}).status_code == 403
    assert stored() is None


def test_the_stranger_and_the_anonymous_see_nothing(waits: list[Todo]) -> None:
    stranger = client_of("stranger", "view_todo")
    for extra in ({"_preview": "alone"}, {"_confirm": "yes"}):
        assert stranger.post(change_url(), {"value": "60", **extra}).status_code == 403
        assert Client().post(change_url(), {"value": "60", **extra}).status_code == 302
    assert stranger.get(change_url()).status_code == 403


def test_the_oldest_is_linked_for_whom_may_see_it(operator: Client, waits: list[Todo]) -> None:
    assert page_of(waits[1]) in operator.get(change_url()).content.decode()


def test_hostile_names_are_inert_and_cut(operator: Client) -> None:
    long = HOSTILE + "ש" * (200 - len(HOSTILE))
    desk = make_endpoint(queues=[long])
    make_waiting(endpoint=desk, queue=long, owner=long, age=2 * HOUR)
    for response in (preview(operator, "3600"), save(operator, "3600")):
        content = response.content.decode()
        assert "<script>alert" not in content
        assert "\u202e" not in content
        assert "ש" * 60 not in content
        assert "{{ 7|add:7 }}" in text(response)
        assert content.count('<bdi class="of-strangers">') >= 3


def test_many_queues_are_summed_up_beyond_a_bound(operator: Client) -> None:
    queues = [f"queue {n}" for n in range(14)]
    desk = make_endpoint(queues=queues)
    for queue in queues:
        make_waiting(endpoint=desk, queue=queue, age=2 * HOUR)
    page = text(preview(operator, "3600"))
    assert "4 more queues 4 0 4 4 0 2 h" in page
    assert "14 waits become due" in page


def test_the_page_costs_the_same_statements_however_much_waits(
    operator: Client, waits: list[Todo]
) -> None:
    operator.get(change_url())
    with CaptureQueriesContext(connection) as few:
        preview(operator, "3600")
    copies(waits[0], 500)
    with CaptureQueriesContext(connection) as many:
        preview(operator, "3600")
    assert len(many) == len(few)
    assert "501" in text(preview(operator, "3600"))


def test_other_settings_have_no_preview(operator: Client, waits: list[Todo]) -> None:
    page = operator.get(change_url("sse_retry_ms"))
    assert b"_preview" not in page.content
    assert b"What waits now" not in page.content


def test_a_preview_that_the_database_refuses_stops_no_change(
    operator: Client, waits: list[Todo]
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE todos RENAME COLUMN interrupted_at TO away")
    assert "The effect could not be computed" in text(operator.get(change_url()))
    asked = save(operator, "3600")
    assert "The effect could not be computed" in text(asked)
    confirm(operator, asked)
    assert stored() == "3600"
