"""What keeps people from reading the board: nothing serious, in any theme and at any width."""

from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import serious_issues
from tests.browser.boards import card, expect_live, open_panel
from tests.browser.conftest import Open
from tests.browser.people import make_operator
from tests.factories import make, make_endpoint, make_waiting
from tests.todos.admin.pages import HOSTILE
from todos import reaper
from todos.states import DEAD, PARKED, State

pytestmark = pytest.mark.django_db(transaction=True)

WAYS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}},
}


def sideways(page: Page) -> int:
    """By how many pixels the page is wider than the screen."""
    width = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert isinstance(width, int)
    return width


@pytest.mark.parametrize("way", WAYS)
def test_no_serious_issue_on_board_and_panels(way: str, open_page: Open) -> None:
    for condition in (*State, PARKED, DEAD):
        if condition != State.FAILED:
            make(condition)
    wait, lapsed = make_waiting(), make_waiting(age=timedelta(days=2))
    gone = make_waiting(title="was reclaimed")
    reaper.reclaim_now(gone.pk)
    page = open_page("/board/", make_operator(), **WAYS[way])
    expect_live(page)
    assert not serious_issues(page)
    assert sideways(page) <= 0
    expect(card(page, lapsed, "waiting")).to_contain_text("overdue 24 h: reclaimed at the next")
    dialog = open_panel(page, wait, "waiting")
    assert not serious_issues(page)
    for name in ("Answer and resume", "Reclaim now", "Cancel"):
        dialog.get_by_role("link", name=name).click()
        expect(dialog.get_by_role("link", name="No, take me back")).to_be_visible()
        assert not serious_issues(page), name
        assert sideways(page) <= 0
        dialog.get_by_role("link", name="No, take me back").click()
        expect(dialog.get_by_role("link", name=name)).to_be_visible()


def test_no_serious_issue_on_the_empty_board_and_on_a_panel_of_its_own(open_page: Open) -> None:
    user = make_operator()
    page = open_page("/board/", user)
    expect_live(page)
    assert not serious_issues(page)
    wait = make_waiting()
    page.goto(f"/board/todos/{wait.pk}/")
    assert not serious_issues(page)


@pytest.mark.parametrize("way", WAYS)
def test_hostile_texts_in_every_field_stay_texts(way: str, open_page: Open) -> None:
    long = "W" * 200
    right_to_left = "\u202eevil \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627"
    markup = '<img src=x onerror="document.title=1">' + HOSTILE
    texts = [markup, right_to_left, long]
    asked = {"question": markup * 20, "long": "x" * 10_000, "rtl": right_to_left}
    todos = [
        make_waiting(
            title=text,
            owner=text,
            claimant=text[:40],
            queue=text,
            kind=text,
            source=text,
            asked=asked,
            endpoint=make_endpoint(name=text, queues=[text]),
        )
        for text in texts
    ]
    reclaimed = make_waiting(title=markup, asked=asked)
    reaper.reclaim_now(reclaimed.pk)
    page = open_page("/board/", make_operator(), **WAYS[way])
    expect_live(page)
    assert sideways(page) <= 0
    expect(page.locator("#content img")).to_have_count(0)
    expect(page.locator("#content script")).to_have_count(0)
    for todo in todos:
        dialog = open_panel(page, todo, "waiting")
        # In the order of jsonb: the short keys first. Cut, with a link to all of it.
        expect(dialog.locator(".document").first).to_contain_text("xxxxxxxx")
        expect(dialog.get_by_role("link", name="Cut: show all of it")).to_be_visible()
        expect(dialog.locator("img, script")).to_have_count(0)
        assert sideways(page) <= 0
        page.keyboard.press("Escape")
    expect(page).to_have_title("Board | Switchboard")
