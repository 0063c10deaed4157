"""The board and the panels as pages: who may look, what they say, what filters do."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from tests.factories import (
    make,
    make_claimed,
    make_dead_letter,
    make_endpoint,
    make_pending,
    make_waiting,
)
from tests.settings_app.pages import text
from tests.todos.admin.conftest import client_of
from tests.todos.admin.pages import HOSTILE
from todos import reaper, transitions
from todos.models import Todo
from todos.states import DEAD, PARKED, State

pytestmark = pytest.mark.django_db(transaction=True)

BOARD = reverse("board:board")
STREAM = reverse("board:stream")


def panel_of(todo: Todo) -> str:
    return reverse("board:panel", args=[todo.pk])


def ask_of(todo: Todo, name: str) -> str:
    return reverse("board:do", args=[todo.pk, name])


def test_whoever_may_look_sees_the_board_its_panels_and_the_stream(viewer: Client) -> None:
    todo = make_waiting()
    assert viewer.get(BOARD).status_code == 200
    assert viewer.get(panel_of(todo)).status_code == 200
    assert viewer.head(STREAM).status_code == 200


def test_one_permission_to_act_is_enough_to_look() -> None:
    someone = client_of("someone", "cancel_todo")
    assert someone.get(BOARD).status_code == 200
    assert someone.head(STREAM).status_code == 200


def test_the_stranger_sees_nothing(stranger: Client) -> None:
    todo = make_waiting()
    for url in (BOARD, panel_of(todo), ask_of(todo, "cancel")):
        assert stranger.get(url).status_code == 403
    assert stranger.head(STREAM).status_code == 403
    assert stranger.get(STREAM).status_code == 403


def test_the_anonymous_is_sent_to_the_login_and_has_no_stream() -> None:
    todo = make_waiting()
    for url in (BOARD, panel_of(todo), ask_of(todo, "cancel")):
        response = Client().get(url)
        assert response.status_code == 302
        assert response["Location"].startswith("/admin/login/?next=/board/")
    assert Client().get(STREAM).status_code == 403


def test_the_admin_leads_to_the_board_and_back(viewer: Client, stranger: Client) -> None:
    index = reverse("admin:index")
    assert f'href="{BOARD}"' in viewer.get(index).text
    assert f'href="{index}"' in viewer.get(BOARD).text
    assert f'href="{BOARD}"' not in stranger.get(index).text


def test_the_page_needs_no_script_to_show_what_there_is(viewer: Client) -> None:
    todo = make_waiting(title="Which name?", age=timedelta(hours=2))
    page = text(viewer.get(BOARD))
    assert "Waiting 1" in page
    assert "Which name?" in page
    assert todo.interrupted_at
    deadline = todo.interrupted_at + timedelta(days=1)
    assert f"reclaimed at {deadline:%Y-%m-%d %H:%M:%S} UTC" in page
    assert "attempt 1 of 5" in page
    assert "None." in page


def test_nothing_inline_and_nothing_from_elsewhere_runs(viewer: Client) -> None:
    todo = make_waiting()
    for url in (BOARD, panel_of(todo)):
        response = viewer.get(url)
        assert "script-src 'self';" in response["Content-Security-Policy"]
        assert "no-store" in response["Cache-Control"]
        assert "<style" not in response.text
        assert " style=" not in response.text


def test_the_filters_are_in_the_address(viewer: Client) -> None:
    desk, other = make_endpoint(name="till 3"), make_endpoint()
    mine = make_pending(endpoint=desk, queue="reviews")
    theirs = make_pending(endpoint=other, queue="inbox")
    for query in (f"endpoint={desk.pk}", "queue=reviews", f"endpoint={desk.pk}&queue=reviews"):
        page = viewer.get(f"{BOARD}?{query}").text
        assert mine.pk in page
        assert theirs.pk not in page
        assert "Show all" in page
    page = viewer.get(f"{BOARD}?endpoint={desk.pk}&queue=reviews").text
    assert f'<option value="{desk.pk}" selected>till 3</option>' in page
    assert f"stream?endpoint={desk.pk}&amp;queue=reviews" in page


def test_a_filter_that_finds_nothing_says_so(viewer: Client) -> None:
    make_pending()
    for query in (f"endpoint={uuid4()}", "queue=nowhere"):
        response = viewer.get(f"{BOARD}?{query}")
        assert response.status_code == 200
        assert "Pending 0" in text(response)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("endpoint=7", "endpoint: must be the id of an endpoint"),
        ("endpoint=%00", "endpoint: must be the id of an endpoint"),
        ("queue=%00", "queue: must not contain control characters"),
        (f"queue={'q' * 201}", "queue: must have at most 200 characters"),
    ],
)
def test_a_filter_that_cannot_be_is_refused_by_name(query: str, why: str, viewer: Client) -> None:
    response = viewer.get(f"{BOARD}?{query}")
    assert response.status_code == 400
    assert why in text(response)
    assert viewer.head(f"{STREAM}?{query}").status_code == 400


def test_a_waits_panel_says_everything(viewer: Client) -> None:
    todo = make_waiting(
        title="Which name?",
        asked={"question": "switchboard or patchbay?"},
        claimant="night shift",
        age=timedelta(hours=2),
        attempt=2,
    )
    page = text(viewer.get(panel_of(todo)))
    for words in (
        '"question": "switchboard or patchbay?"',
        "Waits since",
        "(2 h ago)",
        "Will be reclaimed",
        "(in 21 h 59 min)",
        "interrupt_lease_ttl_seconds : 86400 s (24 h), the default",
        "Held by ada",
        "Claimant night shift",
        "Attempt 2 of 5",
        "released → requeued",
        "open: held now",
    ):
        assert words in page, words


def test_a_dead_letters_panel_says_why(viewer: Client) -> None:
    todo = make_waiting(asked={"question": "who?"}, max_attempts=1)
    reaper.reclaim_now(todo.pk)
    page = text(viewer.get(panel_of(todo)))
    assert "Why it is a dead letter" in page
    assert '"error": "interrupt_expired"' in page
    assert '"question": "who?"' in page
    assert "died: its holder never reported, its wait was reclaimed → dead lettered" in page
    failed = make_dead_letter(result={"error": "410 Gone"})
    assert "410 Gone" in text(viewer.get(panel_of(failed)))


@pytest.mark.parametrize(
    "condition", [State.PENDING, State.CLAIMED, State.AUTH_REQUIRED, PARKED, DEAD, State.DONE]
)
def test_every_todo_has_a_panel(condition: str, viewer: Client) -> None:
    todo = make(condition)
    assert f"State {condition}" in text(viewer.get(panel_of(todo)))


@pytest.mark.parametrize("key", ["td_none", "x" * 500, "%00", "td_\u202e"])
def test_no_such_todo(key: str, viewer: Client) -> None:
    assert viewer.get(f"/board/todos/{key}/").status_code == 404


def test_the_board_asks_for_the_inner_part_alone(viewer: Client) -> None:
    todo = make_claimed()
    part = viewer.get(panel_of(todo), headers={"X-Board": "panel"})
    assert part["X-Board"] == "panel"
    assert "<html" not in part.text
    assert 'id="panel-title"' in part.text
    whole = viewer.get(panel_of(todo))
    assert "<html" in whole.text
    assert not whole.has_header("X-Board")


def test_hostile_texts_stay_texts(viewer: Client) -> None:
    asked = {"question": HOSTILE, "long": "x" * 10_000, "deep": [[HOSTILE]]}
    todo = make_waiting(
        title=HOSTILE,
        owner=HOSTILE,
        claimant=HOSTILE,
        asked=asked,
        kind=HOSTILE,
        endpoint=make_endpoint(name=HOSTILE),
    )
    dead = make_dead_letter(title=HOSTILE, result=asked)
    transitions.fail(None, make_claimed(title=HOSTILE).pk, owner=None, summary=HOSTILE)
    for url in (BOARD, panel_of(todo), panel_of(dead), f"{BOARD}?queue=%3Cscript%3Ealert(1)"):
        page = viewer.get(url).text
        assert "<script>alert" not in page
        assert "\u202e" not in page
        assert "Cut: show all of it" in page or "todos/" not in url
