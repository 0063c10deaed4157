"""What operators do from a panel: asked before, done to what they saw, or refused with a reason."""

import threading
from typing import Any

import psycopg
import pytest
from django.contrib.admin.models import LogEntry
from django.db import connections
from django.test import Client
from django.urls import reverse

from tests.factories import (
    assert_invariants,
    make_claimed,
    make_dead_letter,
    make_parked,
    make_waiting,
)
from tests.processes.programs import database_url, wait_until
from tests.settings_app.pages import text
from tests.todos.admin.conftest import ACTIONS, client_of
from tests.todos.admin.pages import told
from todos import reaper, transitions
from todos.board.panel import OPERATIONS
from todos.models import Todo
from todos.states import DEAD, State

pytestmark = pytest.mark.django_db(transaction=True)

FITTING = {
    "resume": make_waiting,
    "reclaim": make_waiting,
    "release": make_claimed,
    "retry": make_dead_letter,
    "cancel": make_waiting,
}
BECOMES = {
    "resume": State.CLAIMED,
    "reclaim": State.PENDING,
    "release": State.PENDING,
    "retry": State.PENDING,
    "cancel": State.CANCELED,
}
NAMES = list(FITTING)


def url_of(todo: Todo, name: str) -> str:
    return reverse("board:do", args=[todo.pk, name])


def seen_by(client: Client, todo: Todo) -> dict[str, str]:
    """The hidden fields of a panel that is opened now."""
    context = client.get(reverse("board:panel", args=[todo.pk])).context
    return {"seen": context["seen"], "was": context["original"].condition}


def do(client: Client, todo: Todo, name: str, seen: dict[str, str], **fields: Any) -> Any:
    return client.post(url_of(todo, name), seen | fields, follow=True)


def state(todo: Todo) -> str:
    return Todo.objects.get(pk=todo.pk).condition


def test_the_board_has_the_operations_of_the_admin() -> None:
    assert [operation.name for operation in OPERATIONS] == NAMES
    assert set(NAMES) == set(ACTIONS["todo"])


@pytest.mark.parametrize("name", NAMES)
def test_each_action_does_its_transition_and_says_who_did_what(name: str, operator: Client) -> None:
    todo = FITTING[name]()
    response = do(operator, todo, name, seen_by(operator, todo), answer='{"name": "patchbay"}')
    assert state(todo) == BECOMES[name]
    done = next(one.done for one in OPERATIONS if one.name == name)
    assert told(response) == [f"{done}."]
    assert response.redirect_chain == [(f"/board/todos/{todo.pk}/", 302)]
    entry = LogEntry.objects.get()
    assert (entry.user.username, entry.object_id) == ("operator", todo.pk)
    if name == "resume":
        assert Todo.objects.get().result == {"name": "patchbay"}
    assert_invariants()


@pytest.mark.parametrize("name", ["resume", "reclaim", "release", "cancel"])
def test_it_is_asked_before_what_takes_away_or_needs_an_answer(name: str, operator: Client) -> None:
    todo = FITTING[name]()
    before = Todo.objects.values().get()
    panel = operator.get(reverse("board:panel", args=[todo.pk]))
    assert f'href="{url_of(todo, name)}"' in panel.text
    asked = text(operator.get(url_of(todo, name)))
    warning = next(one.warning for one in OPERATIONS if one.name == name)
    assert " ".join(warning.split()) in asked
    assert "No, take me back" in asked
    if name == "resume":
        assert "Which one, the red or the blue?" in asked
    assert Todo.objects.values().get() == before


@pytest.mark.parametrize("name", NAMES)
def test_the_viewer_and_the_stranger_can_do_nothing(
    name: str, viewer: Client, stranger: Client
) -> None:
    todo = FITTING[name]()
    seen = seen_by(viewer, todo)
    before = Todo.objects.values().get()
    for client in (viewer, stranger):
        assert do(client, todo, name, seen, answer="x").status_code == 403
        assert client.get(url_of(todo, name)).status_code == 403
    assert "/login/" in do(Client(), todo, name, seen).redirect_chain[0][0]
    assert Todo.objects.values().get() == before
    assert not LogEntry.objects.exists()
    page = viewer.get(reverse("board:panel", args=[todo.pk])).text
    assert url_of(todo, name) not in page


@pytest.mark.parametrize("name", NAMES)
def test_one_permission_allows_that_one_action_alone(name: str) -> None:
    someone = client_of("someone", f"{name}_todo")
    for other in NAMES:
        todo = FITTING[other]()
        response = do(someone, todo, other, seen_by(someone, todo), answer="x")
        assert (state(todo) == BECOMES[other]) == (other == name)
        assert response.status_code == (200 if other == name else 403)


def test_an_unknown_action_and_a_forged_request_do_nothing(operator: Client) -> None:
    todo = make_claimed()
    seen = seen_by(operator, todo)
    assert do(operator, todo, "delete", seen).status_code == 404
    operator.handler.enforce_csrf_checks = True
    assert do(operator, todo, "cancel", seen).status_code == 403
    assert state(todo) == State.CLAIMED


def test_a_wait_that_was_answered_meanwhile_is_left_alone(operator: Client) -> None:
    todo = make_waiting()
    seen = seen_by(operator, todo)
    transitions.resume(todo.endpoint, todo.pk, owner=todo.owner)
    for name in ("cancel", "reclaim", "resume"):
        (message,) = told(do(operator, todo, name, seen, answer="too late"))
        now = Todo.objects.get(pk=todo.pk)
        assert message == (
            "Nothing was done: it is no longer input-required but claimed, held by ada, since"
            f" {now.updated_at:%Y-%m-%d %H:%M:%S} UTC."
        )
        assert now.condition == State.CLAIMED
    assert not LogEntry.objects.exists()


def test_an_answer_is_not_given_to_another_question(operator: Client) -> None:
    """It waits again, in the same state, for the same holder: only the question is another."""
    todo = make_waiting(asked={"question": "red or blue?"})
    seen = seen_by(operator, todo)
    transitions.resume(todo.endpoint, todo.pk, owner=todo.owner, result={"answer": "red"})
    again = {"question": "delete everything?"}
    state_now = State.INPUT_REQUIRED
    transitions.interrupt(todo.endpoint, todo.pk, owner=todo.owner, state=state_now, result=again)
    response = do(operator, todo, "resume", seen, answer="yes, the blue one")
    assert Todo.objects.get().result == again
    assert state(todo) == State.INPUT_REQUIRED
    page = text(response)
    assert "Nothing was done: it has moved on and is input-required again, held by ada" in page
    # The new question is there, and what was typed is not lost.
    assert "delete everything?" in page
    assert "yes, the blue one" in page
    fresh = {"seen": response.context["seen"], "was": State.INPUT_REQUIRED}
    do(operator, todo, "resume", fresh, answer="no")
    assert Todo.objects.get().result == "no"


def test_a_form_that_does_not_say_what_was_seen_is_refused(operator: Client) -> None:
    todo = make_waiting()
    for seen in ({}, {"seen": "yesterday", "was": "\x00<script>"}):
        do(operator, todo, "cancel", seen)
        assert state(todo) == State.INPUT_REQUIRED


def test_a_heartbeat_is_no_reason_to_refuse(operator: Client) -> None:
    todo = make_claimed()
    seen = seen_by(operator, todo)
    transitions.heartbeat(todo.endpoint, todo.pk, owner=todo.owner)
    do(operator, todo, "release", seen)
    assert state(todo) == State.PENDING


def test_a_slip_in_the_answer_is_shown_and_does_nothing(operator: Client) -> None:
    todo = make_waiting()
    response = do(operator, todo, "resume", seen_by(operator, todo), answer='{"a": ')
    assert "Begins like JSON but is none" in text(response)
    assert state(todo) == State.INPUT_REQUIRED
    response = do(operator, todo, "resume", seen_by(operator, todo), answer="NUL \x00")
    assert "Null characters are not allowed" in text(response)
    assert state(todo) == State.INPUT_REQUIRED


def test_a_retry_is_offered_for_what_failed_alone(operator: Client) -> None:
    offered = [
        "/retry/" in operator.get(reverse("board:panel", args=[make().pk])).text
        for make in (make_dead_letter, make_parked, make_waiting)
    ]
    assert offered == [True, True, False]


def test_what_is_asked_about_and_is_over_says_so(operator: Client) -> None:
    todo = make_waiting()
    reaper.reclaim_now(todo.pk)
    page = text(operator.get(url_of(todo, "resume")))
    assert "Answer and resume is not possible: this todo is pending now." in page


def test_a_dead_letter_comes_back(operator: Client) -> None:
    todo = make_dead_letter()
    assert state(todo) == DEAD
    do(operator, todo, "retry", seen_by(operator, todo))
    assert state(todo) == State.PENDING


def test_what_moves_at_the_same_moment_is_refused(operator: Client) -> None:
    """A worker's commit comes first, while the operator's request already waits for the row."""
    todo = make_waiting()
    seen = seen_by(operator, todo)
    answers: list[Any] = []

    def press() -> None:
        try:
            answers.append(do(operator, todo, "cancel", seen))
        finally:
            connections.close_all()

    with psycopg.connect(database_url()) as rival, psycopg.connect(database_url()) as watcher:
        rival.execute(
            "UPDATE todos SET updated_at = statement_timestamp() WHERE id = %s", [todo.pk]
        )
        thread = threading.Thread(target=press)
        thread.start()
        wait_until(lambda: _somebody_waits(watcher), "the operator's request at the row's lock")
        rival.commit()
        thread.join(30)
    (message,) = told(answers[0])
    assert message.startswith("Nothing was done: it has moved on")
    assert state(todo) == State.INPUT_REQUIRED


def _somebody_waits(watcher: psycopg.Connection) -> bool:
    watcher.rollback()
    query = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    row = watcher.execute(query).fetchone()
    return bool(row and row[0])
