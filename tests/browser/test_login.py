"""The way in: the admin's own login, typed into a real browser."""

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import serious_issues
from tests.browser.conftest import Open
from tests.browser.people import PASSWORD, make_operator

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_operator_logs_in_and_is_taken_to_the_page_that_was_asked_for(open_page: Open) -> None:
    make_operator()
    page = open_page("/admin/todos/todo/")
    expect(page).to_have_title("Log in | Switchboard")
    assert not serious_issues(page)
    page.get_by_label("Username").fill("operator")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Select todo to view")).to_be_visible()
