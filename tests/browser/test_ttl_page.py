"""The page of the interrupt TTL in a real browser: preview, confirm, save, and the tick."""

from datetime import timedelta

import pytest
from playwright.sync_api import expect

from settings_app.models import Setting
from tests.browser.accessibility import serious_issues
from tests.browser.conftest import Open
from tests.browser.people import make_operator, make_viewer
from tests.factories import copies, make_endpoint, make_waiting
from tests.todos.admin.pages import HOSTILE
from todos import reaper
from todos.models import Todo

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "interrupt_lease_ttl_seconds"
PAGE = f"/admin/settings_app/setting/{KEY}/change/"
HOUR = timedelta(hours=1)
TWO = "2 waits become due at the next tick: 1 goes back to pending, 1 becomes a dead letter."


@pytest.fixture
def _waits(transactional_db: None) -> None:
    desk = make_endpoint()
    make_waiting(endpoint=desk, queue="reviews", age=2 * HOUR)
    make_waiting(endpoint=desk, max_attempts=1, age=3 * HOUR)
    make_waiting(endpoint=desk)


def stored() -> str | None:
    return Setting.objects.filter(pk=KEY).values_list("value", flat=True).first()


@pytest.mark.usefixtures("_waits")
def test_preview_confirm_save_tick(open_page: Open) -> None:
    page = open_page(PAGE, make_operator())
    expect(page.locator("#effect")).to_contain_text("What waits now")
    page.locator("#id_value").fill("1h")
    # While it is typed, without a button; a screen reader is told in the same words.
    expect(page.locator("#effect")).to_contain_text(f"With 3600 s (1 h): {TWO}")
    expect(page.get_by_role("status")).to_contain_text(TWO)
    assert stored() is None
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", name="Save this change?")).to_be_visible()
    expect(page.locator("#effect-summary")).to_contain_text(TWO)
    assert not serious_issues(page)
    assert stored() is None
    page.get_by_role("button", name="Yes, save it").click()
    expect(page.locator(".messagelist")).to_contain_text(f"to 3600: 3600 s (1 h). {TWO}")
    assert stored() == "3600"
    assert reaper.reap_expired() == 2
    states = Todo.objects.values_list("state", flat=True)
    assert sorted(states) == ["failed", "input-required", "pending"]


@pytest.mark.usefixtures("_waits")
def test_enter_in_the_field_previews_and_does_not_save(open_page: Open) -> None:
    page = open_page(PAGE, make_operator(), java_script_enabled=False)
    page.locator("#id_value").fill("1h")
    page.keyboard.press("Enter")
    expect(page.locator("#effect")).to_contain_text(f"With 3600 s (1 h): {TWO}")
    expect(page.locator("#id_value")).to_have_value("1h")
    assert stored() is None


@pytest.mark.usefixtures("_waits")
def test_without_scripts_the_buttons_do_it_all(open_page: Open) -> None:
    page = open_page(PAGE, make_operator(), java_script_enabled=False)
    page.locator("#id_value").fill("0")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#effect")).to_contain_text("3 waits have no deadline any more.")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("button", name="No, back to the form").click()
    expect(page.locator("#id_value")).to_have_value("0")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("button", name="Yes, save it").click()
    expect(page.locator(".messagelist")).to_contain_text("the sweep is off")
    assert stored() == "0"


@pytest.mark.usefixtures("_waits")
def test_junk_is_refused_as_it_is_typed_and_the_last_value_typed_counts(open_page: Open) -> None:
    page = open_page(PAGE, make_operator())
    field = page.locator("#id_value")
    field.fill("1 fortnight")
    expect(page.get_by_role("status")).to_contain_text("such as 45s, 90m, 36h or 2d")
    expect(page.locator("#effect")).to_contain_text("With 86400 s (24 h), the default")
    for typed in ("9", "90", "90m"):
        field.fill(typed)
    expect(page.locator("#effect")).to_contain_text(f"With 5400 s (1 h 30 min): {TWO}")


def test_a_preview_that_cannot_be_had_leaves_the_button(open_page: Open) -> None:
    page = open_page(PAGE, make_operator())
    page.route(f"**{PAGE}", lambda route: route.abort())
    page.locator("#id_value").fill("1h")
    expect(page.locator("#effect")).to_have_text("The effect could not be shown: press Preview.")
    page.unroute(f"**{PAGE}")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#effect")).to_contain_text("With 3600 s (1 h): Nothing waits now.")


@pytest.mark.usefixtures("_waits")
def test_the_viewer_reads_it_and_finds_nothing_to_press(open_page: Open) -> None:
    page = open_page(PAGE, make_viewer())
    expect(page.locator("#effect")).to_contain_text("With 86400 s (24 h), the default")
    for name in ("Preview", "Save", "Yes, save it"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    assert not serious_issues(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_it_is_readable_on_any_screen_whatever_the_names_hold(
    scheme: str, width: int, open_page: Open
) -> None:
    long = HOSTILE + "W" * (200 - len(HOSTILE))
    desk = make_endpoint(queues=[long, *(f"queue {n}" for n in range(15))])
    copies(make_waiting(endpoint=desk, queue=long, owner=long, age=30 * HOUR), 2_000)
    for number in range(15):
        make_waiting(endpoint=desk, queue=f"queue {number}", age=number * HOUR)
    page = open_page(
        PAGE, make_operator(), viewport={"width": width, "height": 800}, color_scheme=scheme
    )
    page.locator("#id_value").fill("6h")
    effect = page.locator("#effect")
    expect(effect).to_contain_text("2,010 waits become due at the next tick (2,001 of them are due")
    expect(effect).to_contain_text("New deadline: 21600 s (6 h)")
    expect(effect).to_contain_text("Present deadline: 86400 s (24 h)")
    expect(effect).to_contain_text("6 more queues")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert not serious_issues(page)
