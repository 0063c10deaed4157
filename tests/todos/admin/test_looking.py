"""Lists, searches, filters and pages: those who may look can look, and nothing else."""

from datetime import timedelta

import pytest
from django.test import Client

from settings_app.models import Setting
from tests.factories import (
    make,
    make_claim,
    make_claimed,
    make_dead_letter,
    make_endpoint,
    make_pending,
    make_waiting,
)
from tests.settings_app.pages import text
from tests.todos.admin.pages import HOSTILE, LISTS, list_of, listed, page_of
from todos import endpoints, reaper, selectors, transitions
from todos.models import Attempt, Todo
from todos.selectors import CONDITIONS, ENDINGS
from todos.states import DEAD, PARKED, State

pytestmark = pytest.mark.django_db

TTL = "interrupt_lease_ttl_seconds"


def test_the_viewer_sees_every_list_search_filter_and_page(viewer: Client) -> None:
    todo = make_waiting()
    for model in LISTS:
        for query in ("", f"?q={todo.pk}", "?q=%00", "?q=%25_%27", "?p=1"):
            assert viewer.get(list_of(model) + query).status_code == 200, query
    for condition in CONDITIONS:
        for rest in ("", "&queue=inbox", f"&q={todo.pk[:9]}", "&q=a&queue=inbox"):
            assert viewer.get(f"{list_of('todo')}?state={condition}{rest}").status_code == 200
    for ending in ENDINGS:
        for rest in ("", f"&q={todo.pk}"):
            assert viewer.get(f"{list_of('attempt')}?ending={ending}{rest}").status_code == 200
    for status in ("active", "expired", "revoked"):
        assert viewer.get(f"{list_of('endpoint')}?status={status}&queue=inbox").status_code == 200
    for url in (page_of(todo), page_of(todo.endpoint), page_of(todo.attempts.get())):
        assert viewer.get(url).status_code == 200


@pytest.mark.parametrize(
    "query", ["state=junk", "p=7", "p=x&state=claimed&x=1", "title__contains=a"]
)
def test_what_no_filter_knows_is_not_passed_over(query: str, viewer: Client) -> None:
    response = viewer.get(f"{list_of('todo')}?{query}")
    assert response.status_code in (302, 400)


@pytest.mark.parametrize("model", LISTS)
def test_the_stranger_sees_nothing(model: str, stranger: Client) -> None:
    todo = make_waiting()
    rows = {"todo": todo, "endpoint": todo.endpoint, "attempt": todo.attempts.get()}
    assert stranger.get(list_of(model)).status_code == 403
    assert stranger.get(page_of(rows[model])).status_code == 403
    assert stranger.get(f"/admin/todos/todo/{todo.pk}/document/result/").status_code == 403


@pytest.mark.parametrize("model", LISTS)
def test_not_even_a_superuser_can_change_or_delete(model: str, admin_client: Client) -> None:
    todo = make_waiting()
    page = page_of({"todo": todo, "endpoint": todo.endpoint, "attempt": todo.attempts.get()}[model])
    before = Todo.objects.values().get(), Attempt.objects.values().get()
    assert admin_client.post(page, {"title": "changed"}).status_code == 403
    assert admin_client.post(page.replace("change", "delete"), {"post": "yes"}).status_code == 403
    if model != "endpoint":
        assert admin_client.get(f"{list_of(model)}add/").status_code == 403
    selected = {"action": "delete_selected", "_selected_action": todo.pk}
    admin_client.post(list_of(model), selected)
    assert "delete_selected" not in admin_client.get(list_of(model)).text
    assert (Todo.objects.values().get(), Attempt.objects.values().get()) == before


@pytest.mark.parametrize("key", ["\x00", "td_none", "é", "x" * 5_000, "../x"])
def test_what_is_not_there_is_not_found(key: str, viewer: Client) -> None:
    for model in LISTS:
        assert viewer.get(f"{list_of(model)}{key}/change/").status_code in (302, 404)
    assert viewer.get(f"{list_of('todo')}{key}/document/result/").status_code == 404


def test_each_state_has_its_list(viewer: Client) -> None:
    conditions = [*State, PARKED, DEAD]
    todos = {str(one): make(one).pk for one in conditions if one != State.FAILED}
    waits = {todos["input-required"], todos["auth-required"]}
    for condition in CONDITIONS:
        name = {"parked": PARKED, "dead": DEAD}.get(condition, str(condition))
        expected = waits if condition == selectors.WAITING else {todos[name]}
        assert set(listed(viewer, f"state={condition}")) == expected, condition
        assert set(listed(viewer, f"state={condition}&queue=inbox")) == expected, condition
        assert set(listed(viewer, f"state={condition}&q=td_0")) == expected, condition
        assert listed(viewer, f"state={condition}&queue=reviews") == []
    assert set(listed(viewer, "queue=inbox")) == set(todos.values())
    assert "failed, parked" in text(viewer.get(list_of("todo")))
    assert "failed, dead letter" in text(viewer.get(list_of("todo")))


def test_the_lists_have_the_order_that_they_tell(viewer: Client) -> None:
    desk = make_endpoint()
    hour = timedelta(hours=1)
    waits = [make_waiting(endpoint=desk, age=n * hour).pk for n in (1, 3, 2)]
    pending = [make_pending(endpoint=desk).pk for _ in range(3)]
    assert listed(viewer, "state=waiting") == [waits[1], waits[2], waits[0]]
    assert listed(viewer, "state=waiting&queue=inbox") == waits
    assert listed(viewer, "state=pending") == pending
    assert listed(viewer, "") == [*pending[::-1], *waits[::-1]]
    assert "Longest waiting first." in text(viewer.get(f"{list_of('todo')}?state=waiting"))


def test_a_search_finds_ids_and_titles_by_their_beginning_and_parts_of_new_titles(
    viewer: Client,
) -> None:
    make_pending(title="Quite another")
    todo = make_pending(title="Refund order 1007 (50%)")
    make_pending(title="Something else")
    for search in (todo.pk, todo.pk[:12], todo.pk[3:], "refund ORDER", "Order 1007", "(50%25)"):
        found = listed(viewer, f"q={search}")
        assert todo.pk in found, search
    assert listed(viewer, f"q={todo.pk}") == [todo.pk]
    assert listed(viewer, "q=refund") == [todo.pk]
    assert listed(viewer, "q=ref_nd") == []


def test_old_titles_are_found_by_their_beginning_alone(
    viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "LOOKED_THROUGH", 1)
    todo = make_pending(title="Refund order 1007")
    make_pending(title="Something else")
    assert listed(viewer, "q=refund") == [todo.pk]
    assert listed(viewer, "q=order") == []
    assert "any part of a title among the" in text(viewer.get(list_of("todo")))


def test_of_the_claimed_todos_of_a_queue_those_are_listed_whose_lease_lapses_first(
    viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_endpoint()
    first, second, last = (
        make_claimed(endpoint=desk, lapsed_for=timedelta(minutes=minutes)).pk
        for minutes in (2, 3, 1)
    )
    others = {
        state: make(state, endpoint=desk).pk
        for state in State
        if state not in ("claimed", "failed")
    }
    newest = [*others.values()][::-1]
    elsewhere = make_claimed(endpoint=desk, queue="reviews", lapsed_for=timedelta(minutes=4)).pk
    assert listed(viewer, "state=claimed&queue=inbox") == [second, first, last]
    assert listed(viewer, "queue=inbox") == [*newest, last, second, first]

    monkeypatch.setattr(selectors, "LOOKED_THROUGH", 3)
    assert listed(viewer, "state=claimed&queue=inbox") == [second, first]
    assert listed(viewer, "queue=inbox") == [*newest, second, first]
    assert listed(viewer, "state=done&queue=inbox") == [others[State.DONE]]
    assert listed(viewer, "state=claimed") == [elsewhere, second, first, last]
    for query in ("queue=inbox", "state=claimed&queue=inbox"):
        page = text(viewer.get(f"{list_of('todo')}?{query}"))
        assert "among the 5,000 claimed ones whose lease lapses first, in whatever queue" in page
    page = text(viewer.get(f"{list_of('todo')}?state=done&queue=inbox"))
    assert "in whatever queue" not in page


def test_claimed_titles_are_found_among_those_whose_lease_lapses_first(
    viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "LOOKED_THROUGH", 1)
    late = make_claimed(title="Refund order 1007").pk
    soon = make_claimed(title="Refund order 1008", lapsed_for=timedelta(minutes=1)).pk
    make_pending(title="Something else")
    for search in ("refund", "ORDER", "order&state=claimed", "refund&queue=inbox"):
        assert listed(viewer, f"q={search}") == [soon], search
    assert listed(viewer, "q=order&state=pending") == []
    assert listed(viewer, f"q={late}") == [late]
    page = text(viewer.get(list_of("todo")))
    assert "The titles of other claimed todos are not searched" in page


def test_a_long_list_says_that_it_is_cut(viewer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = make_endpoint()
    todos = [make_pending(endpoint=desk).pk for _ in range(3)]
    assert "More match" not in text(viewer.get(list_of("todo")))
    monkeypatch.setattr(selectors, "LISTED", 2)
    assert listed(viewer, "") == todos[:0:-1]
    assert "More match" in text(viewer.get(list_of("todo")))


def test_attempts_are_told_apart_by_their_end(viewer: Client) -> None:
    died = make_claimed(lapsed_for=timedelta(seconds=1))
    reaper.reap_expired()
    held = make_claimed()
    dead = make_dead_letter()
    assert listed(viewer, "ending=died", "attempt") == [died.attempts.get().pk]
    assert listed(viewer, "ending=open", "attempt") == [held.attempts.get().pk]
    assert listed(viewer, "ending=failed", "attempt") == [dead.attempts.get().pk]
    assert listed(viewer, "ending=lease_expired", "attempt") == []
    assert listed(viewer, f"q={dead.pk}", "attempt") == [dead.attempts.get().pk]
    assert listed(viewer, f"q={dead.pk}&ending=died", "attempt") == []
    assert "died: its holder never reported" in text(viewer.get(list_of("attempt")))


def test_secrets_are_not_shown(admin_client: Client) -> None:
    claim = make_claim(fence=True)
    attempt = Attempt.objects.get()
    pages = (page_of(claim.todo), page_of(claim.todo.endpoint), page_of(attempt))
    hashes = [bytes(attempt.lease_token_hash or b""), bytes(claim.todo.endpoint.credential_hash)]
    for url in (*pages, *map(list_of, LISTS)):
        page = admin_client.get(url).text
        for secret in hashes:
            assert secret.hex() not in page
            assert repr(secret) not in page
        assert "_hash" not in page


def test_the_ledger_is_newest_first_bounded_and_says_who_died(
    viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    todo = make_claimed(attempt=3, lapsed_for=timedelta(seconds=1), claimant="laptop of ada")
    reaper.reap_expired()
    page = text(viewer.get(page_of(todo)))
    ledger = page[page.index("Ledger") :]
    assert ledger.index("#3") < ledger.index("#2") < ledger.index("#1")
    assert "died: its holder never reported, its lease lapsed → requeued" in ledger
    assert ledger.count("released → requeued") == 2
    assert "laptop of ada" in ledger
    monkeypatch.setattr("todos.admin.panels.LEDGER_SHOWN", 2)
    ledger = text(viewer.get(page_of(todo)))
    assert "#1" not in ledger
    assert "2 of 3 attempts, the latest" in ledger


def test_a_wait_says_what_is_asked_since_when_and_when_it_is_reclaimed(viewer: Client) -> None:
    todo = make_waiting(asked={"question": "Red or blue?"}, age=timedelta(hours=1))
    response = viewer.get(page_of(todo))
    page = text(response)
    assert 'What is asked { "question": "Red or blue?" }' in page
    assert "(1 h ago)" in page or "(1 h 1 s ago)" in page
    assert "(in 22 h 59 min)" in page or "(in 23 h)" in page
    assert f"By the setting {TTL} : 86400 s (24 h), the default" in page
    assert f"/admin/settings_app/setting/{TTL}/change/" in response.text


def test_a_wait_past_its_ttl_is_overdue_until_the_next_tick(viewer: Client) -> None:
    todo = make_waiting(age=timedelta(hours=25))
    assert "overdue: at the next tick" in text(viewer.get(page_of(todo)))
    Setting.objects.create(key=TTL, value=str(26 * 3600))
    assert "overdue" not in text(viewer.get(page_of(todo)))
    assert f"{TTL} : 93600 s (26 h)" in text(viewer.get(page_of(todo)))


@pytest.mark.parametrize(
    ("value", "words"),
    [("0", "never: 0 → the sweep is off"), ("9" * 20, "never: 99999999999999999999 → never")],
)
def test_without_a_deadline_the_page_says_never_and_why(
    value: str, words: str, viewer: Client
) -> None:
    Setting.objects.create(key=TTL, value=value)
    page = text(viewer.get(page_of(make_waiting(age=timedelta(days=400)))))
    assert words in page


def test_a_wait_of_an_expired_endpoint_ends_with_it(viewer: Client) -> None:
    todo = make_waiting()
    type(todo.endpoint).objects.update(expires_at=todo.created_at)
    assert "its endpoint is revoked or has expired" in text(viewer.get(page_of(todo)))


def test_hostile_text_is_inert_everywhere(admin_client: Client) -> None:
    desk, _ = endpoints.vend(name=HOSTILE, queues=[HOSTILE])
    asked = {HOSTILE: [HOSTILE, "\u202e" * 3]}
    todo, _ = transitions.create(
        desk,
        queue=HOSTILE,
        title=HOSTILE,
        payload=asked,
        kind=HOSTILE,
        source=HOSTILE,
        idempotency_key=HOSTILE,
        assignee=HOSTILE,
    )
    transitions.claim(desk, todo.pk, owner=HOSTILE, claimant=HOSTILE)
    transitions.interrupt(desk, todo.pk, owner=HOSTILE, state="input-required", result=asked)
    other, _ = transitions.create(desk, queue=HOSTILE, title=HOSTILE)
    transitions.claim(desk, other.pk, owner=HOSTILE)
    transitions.complete(desk, other.pk, owner=HOSTILE, summary=HOSTILE, result=HOSTILE)
    urls = [
        *(list_of(model) for model in LISTS),
        *(page_of(row) for row in (todo, other, desk, *Attempt.objects.all())),
    ]
    confirmations = [
        admin_client.post("/admin/todos/todo/do/cancel/", {"id": [todo.pk, HOSTILE]}),
        admin_client.post("/admin/todos/todo/do/resume/", {"id": todo.pk}),
        admin_client.post("/admin/todos/endpoint/do/revoke/", {"id": [desk.pk, HOSTILE]}),
    ]
    for response in (*(admin_client.get(url) for url in urls), *confirmations):
        assert response.status_code == 200
        assert "<script>alert" not in response.text
        assert "{{ 7|add:7 }}" in response.text


def test_a_huge_document_is_cut_and_shown_whole_as_inert_text(viewer: Client) -> None:
    asked = {
        "question": "<script>alert(1)</script>" + "x" * 10_000,
        "the very last": "\u202eTHE END",
    }
    todo = make_waiting(asked=asked)
    response = viewer.get(page_of(todo))
    assert len(response.content) < 60_000
    assert "THE END" not in response.text
    url = f"/admin/todos/todo/{todo.pk}/document/result/"
    assert url in response.text
    whole = viewer.get(url)
    assert whole["Content-Type"] == "text/plain; charset=utf-8"
    assert whole["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in whole["Content-Security-Policy"]
    assert "\\u202eTHE END" in whole.text
    assert viewer.get(url.replace("result", "title")).status_code == 404


def test_a_document_that_lines_would_multiply_stays_small(viewer: Client) -> None:
    deep: object = list(range(20_000))
    for _ in range(90):
        deep = [deep]
    todo = make_waiting(asked=deep)
    assert len(viewer.get(page_of(todo)).content) < 60_000
    assert len(viewer.get(f"/admin/todos/todo/{todo.pk}/document/result/").content) < 2_000_000
