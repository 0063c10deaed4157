"""A real web process for each test, with worker and beat where a test starts them, and Chromium.

Rows are committed: mark each test `django_db(transaction=True)`, or the module.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import greenlet
import pytest
from django.conf import LazySettings
from playwright._impl._sync_base import SyncBase
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from dev.test_browser import CHROMIUM
from tests.browser.people import cookie_of
from tests.processes.programs import Programs, own_broker
from todos.feed.publisher import publisher

Open = Callable[..., Page]


def _call(self: SyncBase, awaitable: Awaitable[Any]) -> Any:
    """A call of Playwright, after which this thread looks like one without an event loop again.

    Else Django would give what a test does another connection than its fixtures, and refuse it.
    What Playwright itself calls, such as the handler of a route, is within the loop and stays so.
    """
    asyncio._set_running_loop(self._loop)
    try:
        return _their_call(self, awaitable)
    finally:
        called_by_playwright = greenlet.getcurrent().parent is not None
        asyncio._set_running_loop(self._loop if called_by_playwright else None)


_their_call = SyncBase._sync


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        patch.setattr(SyncBase, "_sync", _call)
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()
        asyncio._set_running_loop(browser._loop)
    asyncio._set_running_loop(None)


@pytest.fixture
def programs(transactional_db: None, tmp_path: Path, settings: LazySettings) -> Iterator[Programs]:
    with own_broker() as broker:
        # So that the web process hears of what this one does, too.
        settings.REDIS_URL = broker.url
        publisher._forget()
        yield Programs(broker, tmp_path)
    publisher._forget()


@pytest.fixture
def site(programs: Programs) -> Iterator[str]:
    """The address of a web process."""
    with programs.web() as (_, address):
        yield address


@pytest.fixture
def open_page(chromium: Browser, site: str) -> Iterator[Open]:
    """Opens a page as somebody who is logged in: `open_page("/admin/", user)`; None: as nobody.

    `options` are those of a browser's context, such as `viewport`. A page that breaks its content
    security policy, or whose script fails, fails the test.
    """
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def _open(path: str, user: object = None, **options: object) -> Page:
        context = chromium.new_context(base_url=site, **options)  # type: ignore[arg-type]
        contexts.append(context)
        if user is not None:
            context.add_cookies([{**cookie_of(user), "url": site}])  # type: ignore[typeddict-item]
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.set_default_navigation_timeout(30_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: _complain(message.type, message.text, complaints))
        page.goto(path)
        return page

    yield _open
    for context in contexts:
        context.close()
    assert not complaints


def _complain(kind: str, text: str, complaints: list[str]) -> None:
    # What the network does is for the tests to judge.
    if kind == "error" and "Failed to load resource" not in text and "net::ERR" not in text:
        complaints.append(text)
