"""What operators do with todos, from a list or a todo's page, and who may."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import DatabaseError
from django.test import Client

from tests.factories import (
    assert_invariants,
    endings,
    ledger,
    make,
    make_claimed,
    make_dead_letter,
    make_endpoint,
    make_pending,
    make_waiting,
)
from tests.settings_app.pages import text
from tests.todos.admin.conftest import ACTIONS, client_of
from tests.todos.admin.pages import choose, confirm, list_of, page_of, press, told
from todos import endpoints, lease, transitions
from todos.admin.actions import MAX_SELECTED
from todos.admin.operations import OPERATIONS
from todos.models import Todo
from todos.states import DEAD, PARKED, State

pytestmark = pytest.mark.django_db

NAMES = [operation.name for operation in OPERATIONS]
ASKING = [operation.name for operation in OPERATIONS if operation.asks]
FITTING: dict[str, Callable[[], Todo]] = {
    "resume": make_waiting,
    "reclaim": make_waiting,
    "release": make_claimed,
    "retry": make_dead_letter,
    "cancel": make_claimed,
}
BECOMES = {
    "resume": State.CLAIMED,
    "reclaim": State.PENDING,
    "release": State.PENDING,
    "retry": State.PENDING,
    "cancel": State.CANCELED,
}


def state(todo: Todo) -> str:
    return Todo.objects.get(pk=todo.pk).condition


@pytest.mark.parametrize("name", NAMES)
def test_each_action_does_its_transition_and_says_who_did_what(name: str, operator: Client) -> None:
    todo, other = FITTING[name](), FITTING[name]()
    response = confirm(operator, "todo", name, todo.pk, other.pk)
    assert state(todo) == state(other) == BECOMES[name]
    (message,) = told(response)
    done = next(one.done for one in OPERATIONS if one.name == name)
    assert message == f"{done} 2 todos."
    entries = LogEntry.objects.filter(object_id__in=[todo.pk, other.pk])
    assert {(e.user.username, e.change_message) for e in entries} == {("operator", f"{done}.")}
    assert len(entries) == 2
    assert f"operator {done}." in text(operator.get(page_of(todo).replace("change", "history")))
    assert_invariants()


@pytest.mark.parametrize("name", NAMES)
def test_what_does_not_fit_is_refused_with_its_reason_and_the_rest_is_done(
    name: str, operator: Client
) -> None:
    fits, done = FITTING[name](), make(State.DONE)
    response = confirm(operator, "todo", name, done.pk, fits.pk, "td_none")
    assert state(fits) == BECOMES[name]
    assert state(done) == State.DONE
    ok, refused = told(response)
    assert ok.endswith(" 1 todo.")
    assert refused.startswith("Refused 2 todos: ")
    assert f"{done.pk}: " in refused
    assert "this one is done" in refused
    assert "td_none: todo not found" in refused
    assert LogEntry.objects.count() == 1


def test_many_refusals_are_cut(operator: Client) -> None:
    response = confirm(operator, "todo", "release", *(f"td_{n}" for n in range(15)))
    (refused,) = told(response)
    assert refused.startswith("Refused 15 todos: td_0: ")
    assert refused.endswith("td_9: todo not found; and 5 more.")


@pytest.mark.parametrize("name", ASKING)
def test_nothing_is_done_before_it_is_confirmed(name: str, operator: Client) -> None:
    todo, done = FITTING[name](), make(State.DONE)
    before = state(todo)
    for response in (
        press(operator, "todo", name, todo.pk, done.pk),
        choose(operator, "todo", name, todo.pk, done.pk),
    ):
        page = text(response)
        assert state(todo) == before
        assert todo.pk in page
        assert todo.title in page
        assert "1 of 2 will be refused" in page
        assert 'name="confirmed"' in response.text
    assert not LogEntry.objects.exists()


def test_what_takes_nothing_away_needs_no_confirmation(operator: Client) -> None:
    todo, other = make_dead_letter(), make(PARKED)
    choose(operator, "todo", "retry", todo.pk)
    press(operator, "todo", "retry", other.pk)
    assert state(todo) == state(other) == State.PENDING


@pytest.mark.parametrize("name", NAMES)
def test_the_viewer_can_do_nothing_whatever_is_posted(name: str, viewer: Client) -> None:
    todo = FITTING[name]()
    before = Todo.objects.values().get()
    assert press(viewer, "todo", name, todo.pk).status_code == 403
    assert confirm(viewer, "todo", name, todo.pk, answer="x").status_code == 403
    choose(viewer, "todo", name, todo.pk)
    assert Todo.objects.values().get() == before
    assert not LogEntry.objects.exists()
    page = viewer.get(page_of(todo)).text
    assert "/do/" not in page
    assert 'name="action"' not in viewer.get(list_of("todo")).text


@pytest.mark.parametrize("name", NAMES)
def test_the_stranger_and_the_anonymous_can_do_nothing(name: str, stranger: Client) -> None:
    todo = FITTING[name]()
    before = Todo.objects.values().get()
    assert confirm(stranger, "todo", name, todo.pk).status_code == 403
    assert choose(stranger, "todo", name, todo.pk).status_code == 403
    assert "/login/" in confirm(Client(), "todo", name, todo.pk).redirect_chain[0][0]
    assert Todo.objects.values().get() == before


@pytest.mark.parametrize("name", NAMES)
def test_one_permission_allows_that_one_action_alone(name: str) -> None:
    someone = client_of("someone", f"{name}_todo")
    todo = FITTING[name]()
    for other in NAMES:
        if other != name:
            rival = FITTING[other]()
            assert confirm(someone, "todo", other, rival.pk).status_code == 403
            choose(someone, "todo", other, rival.pk)
    listing = someone.get(list_of("todo")).text
    assert f'value="{name}"' in listing
    assert not [other for other in NAMES if other != name and f'value="{other}"' in listing]
    assert f"/do/{name}/" in someone.get(page_of(todo)).text
    confirm(someone, "todo", name, todo.pk)
    assert state(todo) == BECOMES[name]
    assert LogEntry.objects.count() == 1


def test_every_action_has_a_permission() -> None:
    assert set(ACTIONS["todo"]) == set(NAMES)


def test_a_forged_request_from_elsewhere_is_refused(operator: Client) -> None:
    todo = make_claimed()
    operator.handler.enforce_csrf_checks = True
    assert confirm(operator, "todo", "cancel", todo.pk).status_code == 403
    assert state(todo) == State.CLAIMED


def test_a_get_changes_nothing(operator: Client) -> None:
    todo = make_claimed()
    operator.get("/admin/todos/todo/do/cancel/", {"id": todo.pk, "confirmed": "yes"})
    assert state(todo) == State.CLAIMED
    assert operator.post("/admin/todos/todo/do/delete/", {"id": todo.pk}).status_code == 404


def test_a_page_offers_what_fits_its_state(operator: Client) -> None:
    offered = {
        condition: [name for name in NAMES if f"/do/{name}/" in operator.get(page_of(todo)).text]
        for condition in (State.PENDING, State.CLAIMED, State.AUTH_REQUIRED, PARKED, DEAD, "done")
        for todo in [make(condition)]
    }
    assert offered == {
        State.PENDING: ["cancel"],
        State.CLAIMED: ["release", "cancel"],
        State.AUTH_REQUIRED: ["resume", "reclaim", "cancel"],
        PARKED: ["retry", "cancel"],
        DEAD: ["retry"],
        "done": [],
    }


def test_a_row_that_moved_meanwhile_is_refused_and_told(operator: Client) -> None:
    todo = make_waiting()
    query = "?state=waiting"
    assert todo.pk in operator.get(f"{list_of('todo')}{query}").text
    transitions.resume(todo.endpoint, todo.pk, owner=todo.owner)
    # It has left the filter of the page from which the operator posts.
    page = choose(operator, "todo", "reclaim", todo.pk, query=query)
    assert "will be refused" in text(page)
    response = confirm(operator, "todo", "reclaim", todo.pk, back=f"{list_of('todo')}{query}")
    assert "this one is claimed" in told(response)[0]
    assert response.redirect_chain[-1][0] == f"{list_of('todo')}{query}"
    assert state(todo) == State.CLAIMED


def test_a_retry_names_the_rival_and_the_dead_endpoint(operator: Client) -> None:
    desk = make_endpoint()
    dead = make_dead_letter(endpoint=desk, idempotency_key="k")
    rival = make_pending(endpoint=desk, idempotency_key="k")
    gone = make_dead_letter()
    endpoints.revoke(gone.endpoint)
    (refused,) = told(press(operator, "todo", "retry", dead.pk, gone.pk))
    assert f"{dead.pk}: its key belongs to another live todo, {rival.pk}" in refused
    assert f"{gone.pk}: the endpoint is revoked or has expired" in refused


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ('{"answer": ["blue"]}', {"answer": ["blue"]}),
        ("the blue one", "the blue one"),
        ("42", 42),
        ("null", None),
        ('"quoted"', "quoted"),
        ("", None),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
    ],
)
def test_an_answer_is_json_or_plain_text(answer: str, result: object, operator: Client) -> None:
    todo = make_waiting(asked={"q": 1})
    confirm(operator, "todo", "resume", todo.pk, answer=answer)
    assert Todo.objects.get().result == ({"q": 1} if result is None else result)
    assert LogEntry.objects.get().change_message == "Answered and resumed."


@pytest.mark.parametrize("answer", ['{"a": ', "[1, 2", '["a\\u0000"]', "[NaN]", "[" * 5_000])
def test_a_slip_in_the_answer_is_shown_and_does_nothing(answer: str, operator: Client) -> None:
    todo = make_waiting()
    response = confirm(operator, "todo", "resume", todo.pk, answer=answer)
    assert "Nothing was done yet" in text(response)
    assert answer in text(response) or len(answer) > 100
    assert state(todo) == State.INPUT_REQUIRED


def test_an_answer_that_is_too_long_is_refused(operator: Client) -> None:
    todo = make_waiting()
    response = confirm(operator, "todo", "resume", todo.pk, answer="é" * 200_000)
    assert "must be at most 262144 bytes" in text(response)
    assert state(todo) == State.INPUT_REQUIRED


@pytest.mark.parametrize(("default", "seconds"), [(None, lease.SERVER_DEFAULT), (7_200, 7_200)])
def test_a_resume_renews_the_lease_by_the_rule(
    default: int | None, seconds: int, operator: Client
) -> None:
    desk = make_endpoint(default_lease_ttl_seconds=default)
    todo = make_waiting(endpoint=desk, lapsed_for=timedelta(hours=2))
    confirm(operator, "todo", "resume", todo.pk, answer="x")
    todo.refresh_from_db()
    assert todo.lease_expires_at == todo.updated_at + timedelta(seconds=seconds)
    (attempt,) = ledger(todo)
    assert attempt.lease_expires_at == todo.lease_expires_at
    assert attempt.last_heartbeat_at == todo.updated_at


def test_resume_has_the_lease_rule_of_claim_and_heartbeat() -> None:
    desk = make_endpoint(default_lease_ttl_seconds=7_200)

    def leases(**asked: Any) -> list[timedelta]:
        todo = transitions.claim(desk, make_pending(endpoint=desk).pk, owner="ada", **asked).todo
        assert todo.lease_expires_at
        lengths = [todo.lease_expires_at - todo.updated_at]
        transitions.interrupt(desk, todo.pk, owner="ada", state="auth-required")
        todo = transitions.resume(desk, todo.pk, owner="ada", renew_lease=True, **asked)
        assert todo.lease_expires_at
        return [*lengths, todo.lease_expires_at - todo.updated_at]

    assert leases() == [timedelta(seconds=7_200)] * 2
    assert leases(lease_ttl_seconds=90) == [timedelta(seconds=90)] * 2
    assert leases(lease_ttl_seconds=100_000) == [timedelta(seconds=lease.MAX_TTL)] * 2


def test_a_plain_resume_leaves_the_lease(operator: Client) -> None:
    todo = make_waiting()
    resumed = transitions.resume(todo.endpoint, todo.pk, owner=todo.owner)
    assert resumed.lease_expires_at == todo.lease_expires_at
    assert ledger(todo)[0].last_heartbeat_at is None


def test_a_reclaim_at_the_cap_makes_a_dead_letter(operator: Client) -> None:
    todo = make_waiting(max_attempts=1)
    confirm(operator, "todo", "reclaim", todo.pk)
    assert state(todo) == DEAD
    assert endings(todo) == [("reaped", "dead_lettered", "input-required")]


def test_more_than_a_page_at_once_is_refused(operator: Client) -> None:
    todo = make_claimed()
    keys = [todo.pk, *(f"td_{n}" for n in range(MAX_SELECTED))]
    assert told(confirm(operator, "todo", "cancel", *keys)) == [
        f"Select 1 to {MAX_SELECTED} of them. Nothing was done."
    ]
    assert "Nothing was done" in told(confirm(operator, "todo", "cancel"))[0]
    assert state(todo) == State.CLAIMED


def test_select_across_pages_changes_no_more_than_was_ticked(operator: Client) -> None:
    ticked, other = make_dead_letter(), make_dead_letter()
    fields = {"action": "retry", "_selected_action": ticked.pk, "select_across": "1", "index": "0"}
    operator.post(list_of("todo"), fields)
    assert state(ticked) == State.PENDING
    assert state(other) == DEAD


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_the_way_back_leads_nowhere_else(back: str, operator: Client) -> None:
    page = press(operator, "todo", "cancel", make_claimed().pk, back=back)
    assert "evil" not in page.text
    assert "javascript:" not in page.text
    response = confirm(operator, "todo", "cancel", make_claimed().pk, back=back)
    assert response.redirect_chain[-1][0] == list_of("todo")


@pytest.mark.django_db(transaction=True)
def test_an_error_of_the_database_spares_the_rest(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = make_claimed(), make_claimed()
    cancel = transitions.cancel

    def failing(endpoint: None, key: str) -> Todo:
        todo = cancel(endpoint, key)
        if key == first.pk:
            raise DatabaseError("canceling statement due to statement timeout\nCONTEXT: x")
        return todo

    monkeypatch.setattr(transitions, "cancel", failing)
    done, refused = told(confirm(operator, "todo", "cancel", first.pk, second.pk))
    assert done == "Canceled 1 todo."
    assert refused.endswith("the database refused: canceling statement due to statement timeout.")
    assert state(first) == State.CLAIMED
    assert state(second) == State.CANCELED
    assert LogEntry.objects.get().object_id == second.pk


@pytest.mark.django_db(transaction=True)
def test_what_the_log_cannot_hold_is_not_done(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    todo = make_claimed()

    def failing(*args: object, **kwargs: object) -> None:
        raise DatabaseError("no space left")

    monkeypatch.setattr(LogEntry.objects, "log_actions", failing)
    assert "no space left" in told(confirm(operator, "todo", "cancel", todo.pk))[0]
    assert state(todo) == State.CLAIMED
