"""The board in a browser: what an operator sees and does, live."""

import re
from datetime import timedelta

import pytest
from playwright.sync_api import expect

from settings_app.models import Setting
from tests.browser.boards import LIVE, card, expect_live, expect_moved, lane, open_panel
from tests.browser.conftest import Open
from tests.browser.people import PASSWORD, make_operator, make_stranger, make_viewer
from tests.factories import copies, make_claimed, make_dead_letter, make_pending, make_waiting
from todos import transitions
from todos.models import Todo
from todos.states import State

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)


def test_an_operator_logs_in_sees_a_wait_answers_it_and_sees_it_move(open_page: Open) -> None:
    make_operator()
    todo = make_waiting(title="Rename the repository", age=2 * HOUR, claimant="night shift")
    page = open_page("/board/")
    page.get_by_label("Username").fill("operator")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()

    expect_live(page)
    wait = card(page, todo, "waiting")
    expect(wait).to_contain_text("Rename the repository")
    expect(wait).to_contain_text("held by night shift")
    expect(wait).to_contain_text("waits 2 h")
    expect(wait).to_contain_text("reclaimed in 21 h 59 min")

    dialog = open_panel(page, todo, "waiting")
    expect(dialog).to_contain_text("Which one, the red or the blue?")
    dialog.get_by_role("link", name="Answer and resume").click()
    dialog.get_by_label("Answer").fill('{"answer": "the blue one"}')
    dialog.get_by_role("button", name="Answer and resume").click()
    expect(dialog).to_contain_text("Answered and resumed.")
    expect_moved(page, todo, "claimed")
    expect(lane(page, "waiting").get_by_role("heading")).to_have_text("Waiting 0")
    assert Todo.objects.get().result == {"answer": "the blue one"}

    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(card(page, todo, "claimed").get_by_role("link")).to_be_focused()


def test_what_another_process_does_is_on_every_open_board(open_page: Open) -> None:
    user = make_viewer()
    pages = [open_page("/board/", user) for _ in range(2)]
    for page in pages:
        expect_live(page)
    todo = make_pending()
    for page in pages:
        expect_moved(page, todo, "pending")
    transitions.claim(todo.endpoint, todo.pk, owner="ada")
    for page in pages:
        expect_moved(page, todo, "claimed")
    transitions.interrupt(todo.endpoint, todo.pk, owner="ada", state=State.AUTH_REQUIRED)
    for page in pages:
        expect_moved(page, todo, "waiting")
        expect(card(page, todo, "waiting")).to_contain_text("auth-required")
    transitions.cancel(None, todo.pk)
    for page in pages:
        expect(page.locator(f'li[id="{todo.pk}"]')).to_have_count(0, timeout=LIVE)


def test_a_filtered_board_follows_its_own_todos_alone(open_page: Open) -> None:
    user = make_viewer()
    page = open_page("/board/", user)
    page.get_by_label("Queue").fill("reviews")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile(r"/board/\?endpoint=&queue=reviews$"))
    expect_live(page)
    other, mine = make_pending(queue="inbox"), make_pending(queue="reviews")
    expect_moved(page, mine, "pending")
    expect(page.locator(f'li[id="{other.pk}"]')).to_have_count(0)


def test_a_lane_shows_50_and_says_how_many_more(open_page: Open) -> None:
    copies(make_waiting(age=HOUR), 79)
    page = open_page("/board/", make_viewer())
    expect_live(page)
    expect(lane(page, "waiting").locator("li")).to_have_count(50)
    expect(lane(page, "waiting").locator(".more")).to_contain_text("30 more")


def test_the_clocks_are_the_databases_whatever_this_hosts_clock_says(open_page: Open) -> None:
    Setting.objects.create(key="interrupt_lease_ttl_seconds", value=str(30 * 86_400))
    wait = make_waiting(age=timedelta(minutes=30))
    lapsed = make_claimed(lapsed_for=2 * HOUR)
    page = open_page("/board/", make_viewer())
    page.add_init_script("const real = Date.now; Date.now = () => real() - 9e9;")
    page.reload()
    expect_live(page)
    expect(card(page, wait, "waiting")).to_contain_text("reclaimed in 29 days 23 h")
    expect(card(page, wait, "waiting")).to_contain_text("waits 30 min")
    expect(card(page, lapsed, "claimed")).to_contain_text("lease lapsed 2 h")
    Setting.objects.update(value="0")
    transitions.create(wait.endpoint, queue="inbox", title="something happens")
    expect(card(page, wait, "waiting")).to_contain_text("no deadline", timeout=LIVE)


def test_the_clocks_run(open_page: Open) -> None:
    todo = make_claimed()
    page = open_page("/board/", make_viewer())
    clock = card(page, todo, "claimed").locator(".clock")
    shown = clock.inner_text()
    expect(clock).not_to_have_text(shown)


def test_a_refresh_leaves_the_focus_and_what_is_typed(open_page: Open) -> None:
    todo, other = make_waiting(), make_pending()
    page = open_page("/board/", make_operator())
    expect_live(page)
    link = card(page, other, "pending").get_by_role("link")
    link.focus()
    transitions.claim(other.endpoint, other.pk, owner="ada")
    expect_moved(page, other, "claimed")
    expect(card(page, other, "claimed").get_by_role("link")).to_be_focused()

    dialog = open_panel(page, todo, "waiting")
    dialog.get_by_role("link", name="Answer and resume").click()
    dialog.get_by_label("Answer").fill("half an ans")
    news = make_pending()
    expect_moved(page, news, "pending")
    expect(dialog.get_by_label("Answer")).to_have_value("half an ans")
    expect(dialog.get_by_label("Answer")).to_be_focused()


def test_a_panel_says_that_its_todo_has_moved_and_its_actions_are_refused(open_page: Open) -> None:
    todo = make_waiting()
    page = open_page("/board/", make_operator())
    expect_live(page)
    dialog = open_panel(page, todo, "waiting")
    dialog.get_by_role("link", name="Cancel").click()
    expect(dialog.get_by_role("button", name="Yes, cancel")).to_be_visible()
    transitions.resume(todo.endpoint, todo.pk, owner=todo.owner)
    expect(dialog).to_contain_text("This todo has moved: it is now under “Claimed”.", timeout=LIVE)
    dialog.get_by_role("button", name="Yes, cancel").click()
    expect(dialog).to_contain_text(
        "Nothing was done: it is no longer input-required but claimed, held by ada"
    )
    assert Todo.objects.get().state == State.CLAIMED


def test_a_dead_letter_is_retried_by_the_keyboard_alone(open_page: Open) -> None:
    todo = make_dead_letter(result={"error": "410 Gone"})
    page = open_page("/board/", make_operator())
    expect_live(page)
    expect(card(page, todo, "dead")).to_contain_text("its worker failed at the last attempt")
    link = card(page, todo, "dead").get_by_role("link")
    for _ in range(60):
        page.keyboard.press("Tab")
        if link.evaluate("link => link === document.activeElement"):
            break
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("410 Gone")
    button = dialog.get_by_role("button", name="Retry")
    for _ in range(5):
        page.keyboard.press("Tab")
        if button.evaluate("button => button === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("Put back to pending.")
    expect_moved(page, todo, "pending")


def test_everything_works_without_a_script(open_page: Open) -> None:
    todo = make_waiting(title="Which name?")
    page = open_page("/board/", make_operator(), java_script_enabled=False)
    expect(page.get_by_role("status").first).to_contain_text("Reload for news")
    page.get_by_role("link", name="Which name?").click()
    expect(page.get_by_role("heading", name="Which name?")).to_be_visible()
    page.get_by_role("link", name="Reclaim now").click()
    page.get_by_role("button", name="Yes, reclaim now").click()
    expect(page.locator(".messagelist")).to_have_text("Reclaimed.")
    page.locator(".breadcrumbs").get_by_role("link", name="Board").click()
    expect(card(page, todo, "pending")).to_be_visible()
    expect(page.locator("#reclaims")).to_contain_text("back to pending, attempt 1 of 5")


def test_a_viewer_may_look_and_a_stranger_may_not(open_page: Open) -> None:
    todo = make_waiting()
    page = open_page("/board/", make_viewer())
    expect_live(page)
    dialog = open_panel(page, todo, "waiting")
    expect(dialog).to_contain_text("Which one, the red or the blue?")
    expect(dialog.locator(".operations")).to_have_count(0)
    page = open_page("/board/", make_stranger())
    expect(page.get_by_role("heading")).to_contain_text("403")
