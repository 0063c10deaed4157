"""Lists and pages cost the same statements and the same buffers, whatever there is."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.factories import copies, make, make_claimed, make_endpoint, make_waiting
from tests.todos.admin.pages import list_of, page_of, press
from todos import transitions
from todos.sql import HERE, statement
from todos.states import DEAD, PARKED, State

pytestmark = pytest.mark.django_db


def statements(ask: Callable[..., Any], *args: Any) -> int:
    with CaptureQueriesContext(connection) as captured:
        ask(*args)
    return len(captured)


def test_no_list_asks_more_for_more_rows(operator: Client) -> None:
    todo = make_claimed()
    urls = [
        list_of("todo"),
        f"{list_of('todo')}?state=claimed",
        f"{list_of('todo')}?queue=inbox",
        f"{list_of('todo')}?q=copy",
        list_of("attempt"),
        f"{list_of('attempt')}?ending=open",
        list_of("endpoint"),
    ]
    copies(todo, 1)
    for url in urls:
        operator.get(url)
    few = [statements(operator.get, url) for url in urls]
    copies(todo, 120)
    for _ in range(60):
        make_endpoint(owner=todo.endpoint.owner)
    many = [statements(operator.get, url) for url in urls]
    assert many == few
    assert max(many) <= 8


def test_a_todos_page_asks_no_more_for_a_long_ledger(operator: Client) -> None:
    short, long = make_waiting(), make_waiting(attempt=12)
    operator.get(page_of(short))
    pages = [statements(operator.get, page_of(todo)) for todo in (short, long)]
    assert pages[0] == pages[1] <= 12


def test_a_confirmation_asks_no_more_for_more_rows(operator: Client) -> None:
    ids = copies(make_claimed(), 30)
    one = statements(press, operator, "todo", "cancel", *ids[:1])
    assert statements(press, operator, "todo", "cancel", *ids) == one


def test_no_list_counts_its_rows_or_reads_their_documents(operator: Client) -> None:
    make_claimed()
    with CaptureQueriesContext(connection) as captured:
        for model in ("todo", "attempt"):
            operator.get(list_of(model))
    asked = " ".join(query["sql"] for query in captured)
    for word in ("COUNT(", '"payload"', '"result"', '"summary"', "_hash"):
        assert word not in asked


def buffers(name: str, params: dict[str, Any]) -> tuple[int, str]:
    """The blocks that a statement touches, and its plan."""
    explain = "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) "
    with connection.cursor() as cursor:
        cursor.execute(explain + statement(name), params)
        ((found,),) = cursor.fetchall()
    found = json.loads(found) if isinstance(found, str) else found
    plan = found[0]["Plan"]
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"], json.dumps(found)


LISTS: list[tuple[str, dict[str, Any], str]] = [
    ("newest", {}, "todos_pkey"),
    ("pending", {}, "todos_state_idx"),
    ("claimed", {}, "todos_lease_idx"),
    ("waiting", {}, "todos_interrupted_idx"),
    ("waiting_for", {"condition": "auth-required"}, "todos_interrupted_idx"),
    ("parked", {}, "todos_retry_idx"),
    ("dead", {}, "todos_dead_idx"),
    ("done", {}, "todos_ended_idx"),
    ("called_off", {"condition": "rejected"}, "todos_state_idx"),
    ("queue_newest", {"queue": "inbox", "states": [*map(str, State)]}, "todos_unclaimed_queue_idx"),
    ("queue_oldest", {"queue": "inbox", "states": ["auth-required"]}, "todos_unclaimed_queue_idx"),
    ("queue_failed", {"queue": "inbox", "parked": True}, "todos_unclaimed_queue_idx"),
    ("queue_claimed", {"queue": "inbox"}, "todos_lease_idx"),
    (
        "search",
        {"search": "copy 1", "starts": ["copy 1", "td_"], "queue": None, "conditions": None},
        "todos_unclaimed_title_idx",
    ),
    ("attempts", {}, "todo_attempts_pkey"),
    ("attempts_open", {}, "todo_attempts_open_unique"),
    ("attempts_died", {}, "todo_attempts_outcome_idx"),
    ("attempts_completed", {}, "todo_attempts_pkey"),
    ("attempts_outcome", {"outcome": "failed"}, "todo_attempts_outcome_idx"),
    ("attempts_search", {"starts": ["td_"], "outcomes": None}, "todo_attempts_seq_unique"),
]


def test_every_list_walks_an_index_no_further_than_it_must() -> None:
    desk = make_endpoint()
    for condition in [*State, PARKED, DEAD]:
        if condition != State.FAILED:
            copies(make(condition, endpoint=desk), 2_000)
    released = make_claimed(endpoint=desk)
    transitions.release(desk, released.pk, owner=released.owner)
    copies(released, 2_000)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE todo_attempts SET outcome = 'reaped' WHERE outcome = 'released'")
        cursor.execute("ANALYZE todos, todo_attempts")
    bound = {"limit": 20, "window": 40, "among": 40}
    for name, params, index in LISTS:
        touched, plan = buffers(f"lists/{name}", bound | params)
        assert index in plan, name
        assert "Seq Scan" not in plan, name
        assert touched < 400, (name, touched)


def test_every_list_of_the_admin_is_among_them() -> None:
    used = {path.stem for path in (HERE / "lists").glob("*.sql")}
    # `of_endpoint` is the API's list: its plan is tested with the others.
    others = {"granted_queues", "live_todos", "of_endpoint", "wait"}
    assert used - others == {name for name, _, _ in LISTS}
