"""The list, the permissions and the history; saving is in `test_forms`."""

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from settings_app.registry import TUNABLES
from tests.settings_app.conftest import StoreRow
from tests.settings_app.pages import LIST, TTL, change_url, history_url, save, stored, text

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>{{ 7|add:7 }}&<b>"


def test_the_list_shows_every_known_key_also_without_a_row(viewer: Client) -> None:
    page = text(viewer.get(LIST))
    for key, tunable in TUNABLES.items():
        assert key in page
        assert tunable.help in page
    assert "86400 s (24 h) — 86400 s (24 h), the default" in page
    assert "30 days — 30 days, the default" in page


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("5400", "5400 s (1 h 30 min)"),
        ("45", "45 → raised to 60 s"),
        ("0", "0 → the sweep is off"),
        ("abc", "abc → not a number, default 86400 in effect"),
        ("", "'' → not a number, default 86400 in effect"),
        ("9" * 5_000, "9" * 40 + "… → never"),
        (HOSTILE, HOSTILE[:40] + "… → not a number"),
    ],
    ids=lambda value: value[:10],
)
def test_list_and_page_say_what_a_stored_value_means(
    value: str, words: str, operator: Client, store: StoreRow
) -> None:
    store(TTL, value)
    for url in (LIST, change_url()):
        response = operator.get(url)
        assert words in text(response)
        assert "<script>alert" not in response.content.decode()
        assert len(response.content) < 40_000


def test_an_odd_value_is_marked_and_a_plain_one_is_not(viewer: Client, store: StoreRow) -> None:
    store(TTL, "3600")
    assert b"reinterpreted" not in viewer.get(LIST).content
    store(TTL, "45")
    assert b"reinterpreted" in viewer.get(LIST).content


def test_rows_that_nothing_reads_are_shown_apart_and_cut(viewer: Client, store: StoreRow) -> None:
    assert "Rows that nothing reads" not in text(viewer.get(LIST))
    store("interrupt_lease_ttl_second", "7")
    store("a" * 5_000, HOSTILE)
    response = viewer.get(LIST)
    apart = text(response).split("Rows that nothing reads")[1]
    assert "interrupt_lease_ttl_second 7" in apart
    assert "a" * 40 + "…" in apart
    assert "There are more." not in apart
    assert b"<script>alert" not in response.content
    for number in range(20):
        store(f"unknown {number}", "x")
    assert "There are more." in text(viewer.get(LIST))


def test_the_list_costs_the_same_queries_whatever_is_stored(
    viewer: Client, store: StoreRow
) -> None:
    viewer.get(LIST)
    with CaptureQueriesContext(connection) as empty:
        viewer.get(LIST)
    for key in (*TUNABLES, *(f"unknown {number}" for number in range(30))):
        store(key, "45")
    with CaptureQueriesContext(connection) as full:
        viewer.get(LIST)
    assert len(full) == len(empty)
    assert sum('"settings"' in query["sql"] for query in full.captured_queries) == 2


def test_the_stranger_sees_nothing(stranger: Client) -> None:
    for url in (LIST, change_url(), history_url()):
        assert stranger.get(url).status_code == 403
    assert stranger.post(change_url(), {"value": "3600"}).status_code == 403
    assert LIST not in stranger.get(reverse("admin:index")).content.decode()
    assert stored() is None


def test_the_anonymous_are_sent_to_the_login() -> None:
    for url in (LIST, change_url(), history_url()):
        response = Client().get(url)
        assert response.status_code == 302
        assert "/login/" in response["Location"]


def test_the_viewer_reads_and_cannot_change(viewer: Client, store: StoreRow) -> None:
    store(TTL, "45")
    response = viewer.get(change_url())
    page = text(response)
    assert "45 → raised to 60 s" in page
    assert b'name="value"' not in response.content
    assert b'name="_save"' not in response.content
    assert viewer.get(history_url()).status_code == 200
    assert viewer.post(change_url(), {"value": "3600"}).status_code == 403
    assert stored() == "45"


def test_the_operator_finds_the_page_from_the_index(operator: Client) -> None:
    index = operator.get(reverse("admin:index")).content.decode()
    assert LIST in index
    assert change_url() in operator.get(LIST).content.decode()


@pytest.mark.parametrize("who", ["operator", "admin_client"])
def test_no_key_can_be_added_or_deleted(who: str, request: pytest.FixtureRequest) -> None:
    client = request.getfixturevalue(who)
    add = reverse("admin:settings_app_setting_add")
    delete = reverse("admin:settings_app_setting_delete", args=[TTL])
    fields = {"key": "new_key", "value": "1", "opened_with": "none"}
    for url in (add, delete):
        assert client.get(url).status_code == 403
        assert client.post(url, {**fields, "post": "yes"}).status_code == 403
    client.post(LIST, {"action": "delete_selected", "_selected_action": TTL})
    assert client.post(change_url(), {**fields, "_saveasnew": "1"}).status_code == 403
    page = client.get(change_url()).content.decode()
    assert delete not in page
    assert add not in client.get(LIST).content.decode()


@pytest.mark.parametrize("key", ["no_such_key", "add", "interrupt_lease_ttl_second", "\x00", "é"])
def test_an_unknown_key_is_not_found(key: str, operator: Client, store: StoreRow) -> None:
    store("interrupt_lease_ttl_second", "7")
    assert operator.get(change_url(key)).status_code == 404
    assert operator.post(change_url(key), {"value": "60"}).status_code == 404
    assert operator.get(history_url(key)).status_code == 404


def test_the_history_says_who_changed_what_from_what_to_what(
    operator: Client, colleague: Client
) -> None:
    save(operator, "3600")
    save(colleague, "0")
    save(operator, "")
    save(colleague, "60")
    page = text(operator.get(history_url()))
    lines = [
        "operator Changed from the default 86400 to 3600: 3600 s (1 h)",
        "colleague Changed from 3600 to 0: the sweep is off",
        "operator Changed from 0 to the default 86400: 86400 s (24 h)",
        "colleague Changed from the default 86400 to 60: 60 s (1 min)",
    ]
    places = [page.index(line) for line in lines]
    assert places == sorted(places)
    assert set(LogEntry.objects.values_list("object_id", "action_flag")) == {(TTL, CHANGE)}


def test_a_key_without_a_row_has_a_page_and_a_history(viewer: Client) -> None:
    page = text(viewer.get(change_url("sse_retry_ms")))
    assert "Stored value: — In effect now: 3000 ms (3 s), the default" in page
    assert viewer.get(history_url("sse_retry_ms")).status_code == 200


def test_a_replaced_piece_of_junk_is_inert_in_the_history(
    operator: Client, store: StoreRow
) -> None:
    for junk in (HOSTILE, "9" * 5_000, '[{"added": {}}]'):
        store(TTL, junk)
        save(operator, "3600")
    response = operator.get(history_url())
    assert f"Changed from {HOSTILE[:40]}… to 3600" in text(response)
    assert f"Changed from {'9' * 40}… to 3600" in text(response)
    assert b"<script>alert" not in response.content
