"""An open board whose web process, feed or session goes away, and comes back."""

import time
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from playwright.sync_api import expect

from settings_app.models import Setting
from tests.browser.boards import LIVE, expect_live, expect_moved
from tests.browser.conftest import Open
from tests.browser.people import make_viewer
from tests.factories import make_pending, make_waiting
from tests.processes.programs import Program, Programs
from todos import reaper, transitions

pytestmark = pytest.mark.django_db(transaction=True)

RETRY = 3_000
"""The default of `sse_retry_ms`."""


@pytest.fixture
def web(programs: Programs) -> Iterator[tuple[Program, str]]:
    with programs.web() as started:
        yield started


@pytest.fixture
def site(web: tuple[Program, str]) -> str:
    return web[1]


def test_a_lost_connection_is_said_and_what_happened_meanwhile_is_seen(
    web: tuple[Program, str], open_page: Open, programs: Programs
) -> None:
    program, address = web
    gone, moved, wait = make_pending(), make_pending(), make_waiting(title="Meanwhile")
    page = open_page("/board/", make_viewer())
    expect_live(page)
    program.kill()
    text = page.locator("#connection-text")
    expect(text).to_contain_text("The connection is lost. What is shown is as it was at")
    transitions.cancel(None, gone.pk)
    transitions.claim(moved.endpoint, moved.pk, owner="ada")
    reaper.reclaim_now(wait.pk)
    expect(text).to_contain_text("Trying again")
    with programs.web(port=int(address.rpartition(":")[2])):
        expect_live(page)
        expect_moved(page, moved, "claimed")
        expect(page.locator(f'li[id="{gone.pk}"]')).to_have_count(0)
        expect(page.locator("#news")).to_contain_text("Meanwhile")
        expect(page.locator("#reclaims li")).to_have_count(1)
        fresh = make_pending()
        expect_moved(page, fresh, "pending")


def test_a_lost_redis_costs_latency_and_no_truth(open_page: Open, programs: Programs) -> None:
    page = open_page("/board/", make_viewer())
    expect_live(page)
    programs.broker.halt()
    todo = make_pending()
    # The board looks by itself from time to time.
    expect_moved(page, todo, "pending", within=25_000)
    programs.broker.start()
    other = make_pending()
    expect_moved(page, other, "pending", within=25_000)


def test_a_logout_ends_the_stream_and_says_so(open_page: Open) -> None:
    page = open_page("/board/", make_viewer())
    expect_live(page)
    Session.objects.all().delete()
    text = page.locator("#connection-text")
    expect(text).to_contain_text("You are logged out", timeout=15_000)
    text.get_by_role("link", name="Reload").click()
    expect(page).to_have_title("Log in | Switchboard")


def test_who_may_no_longer_look_sees_no_more(open_page: Open) -> None:
    user = make_viewer()
    page = open_page("/board/", user)
    expect_live(page)
    User.objects.get(pk=user.pk).user_permissions.clear()
    expect(page.locator("#connection-text")).to_contain_text(
        "may no longer look at todos", timeout=15_000
    )
    make_pending()
    expect(page.locator("#pending li")).to_have_count(0)


def test_the_retry_is_that_of_the_setting(
    web: tuple[Program, str], open_page: Open, programs: Programs
) -> None:
    Setting.objects.create(key="sse_retry_ms", value="250")
    program, address = web
    page = open_page("/board/", make_viewer())
    expect_live(page)
    program.kill()
    expect(page.locator("#connection-text")).to_contain_text("The connection is lost")
    with programs.web(port=int(address.rpartition(":")[2])):
        # Sooner than by the default.
        expect(page.locator("#connection-text")).to_have_text("Live", timeout=RETRY - 500)


def test_an_orderly_end_of_the_web_process_does_not_wait_for_its_boards(
    web: tuple[Program, str], open_page: Open
) -> None:
    program, _ = web
    page = open_page("/board/", make_viewer())
    expect_live(page)
    began = time.monotonic()
    program.terminate()
    assert time.monotonic() - began < 8, "it was killed in the end"
    expect(page.locator("#connection-text")).to_contain_text("lost", timeout=LIVE)
