"""Where things are on a board."""

from playwright.sync_api import Locator, Page, expect

from todos.models import Todo

LIVE = 2_000
"""Milliseconds within which a transition is on every open board."""


def lane(page: Page, name: str) -> Locator:
    return page.locator(f"#{name}")


def card(page: Page, todo: Todo, name: str) -> Locator:
    """The card of a todo in the lane where it should be."""
    return lane(page, name).locator(f'li[id="{todo.pk}"]')


def expect_live(page: Page) -> None:
    expect(page.locator("#connection-text")).to_have_text("Live")


def expect_moved(page: Page, todo: Todo, name: str, *, within: float = LIVE) -> None:
    expect(card(page, todo, name)).to_be_visible(timeout=within)
    assert page.locator(f'li[id="{todo.pk}"]').count() == 1


def open_panel(page: Page, todo: Todo, name: str) -> Locator:
    card(page, todo, name).get_by_role("link").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    return dialog
