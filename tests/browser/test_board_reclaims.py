"""A reclaim, made by a real worker for a real beat, arrives on an open board and is told once."""

from datetime import timedelta

import pytest
from playwright.sync_api import expect

from tests.browser.boards import LIVE, expect_live, expect_moved
from tests.browser.conftest import Open
from tests.browser.people import make_viewer
from tests.factories import copies, make_pending, make_waiting
from tests.processes.programs import Programs
from todos import reaper
from todos.models import Todo

pytestmark = pytest.mark.django_db(transaction=True)

OVERDUE = timedelta(hours=24, seconds=1)


def test_a_reclaim_arrives_live_and_is_announced(open_page: Open, programs: Programs) -> None:
    user = make_viewer()
    page = open_page("/board/", user)
    expect_live(page)
    todo = make_waiting(title="Rename the repository", age=OVERDUE, attempt=2)
    expect_moved(page, todo, "waiting")
    with programs.worker(), programs.beat():
        expect_moved(page, todo, "pending", within=20_000)
    news = page.locator("#news")
    expect(news).to_contain_text("Rename the repository")
    expect(news).to_contain_text("reclaimed after 24 h")
    expect(news).to_contain_text("back to pending, attempt 2 of 5")
    expect(news).to_have_attribute("role", "status")
    expect(page.locator("#reclaims li")).to_have_count(1)


def test_many_reclaims_at_once_are_one_announcement_and_a_list(open_page: Open) -> None:
    todo = make_waiting(age=OVERDUE)
    copies(todo, 37)
    page = open_page("/board/", make_viewer())
    expect_live(page)
    reaper.tick()
    expect(page.locator("#news")).to_contain_text("38 waits were reclaimed.", timeout=LIVE)
    expect(page.locator("#reclaims li")).to_have_count(38)


def test_what_was_announced_is_not_announced_again(open_page: Open) -> None:
    todo = make_waiting()
    page = open_page("/board/", make_viewer())
    expect_live(page)
    page.evaluate(
        "window.said = []; new MutationObserver(() => said.push(news.textContent))"
        ".observe(news, {childList: true})"
    )
    reaper.reclaim_now(todo.pk)
    expect(page.locator("#reclaims li")).to_have_count(1, timeout=LIVE)
    for _ in range(3):
        expect_moved(page, make_pending(), "pending")
    assert len(page.evaluate("said")) == 1
    other = make_waiting(title="the second")
    reaper.reclaim_now(other.pk)
    expect(page.locator("#reclaims li")).to_have_count(2, timeout=LIVE)
    said = page.evaluate("said")
    assert len(said) == 2
    assert "the second" in said[1]


def test_what_was_reclaimed_before_the_page_is_listed_and_not_announced(open_page: Open) -> None:
    todo = make_waiting(title="Long ago")
    reaper.reclaim_now(todo.pk)
    page = open_page("/board/", make_viewer())
    expect_live(page)
    expect(page.locator("#reclaims li")).to_contain_text("Long ago")
    expect(page.locator("#news")).to_be_empty()
    assert Todo.objects.count() == 1
