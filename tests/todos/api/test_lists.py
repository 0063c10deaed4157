"""Lists: newest first, page by page, without an offset."""

import pytest

from tests.factories import MAKERS, make, make_pending
from tests.todos.api.conftest import Worker
from todos.models import Todo
from todos.states import State


def ids(worker: Worker, **params: str) -> list[str]:
    return [todo["id"] for todo in worker.get("todos", **params).json()["todos"]]


def test_newest_first_and_without_documents(worker: Worker) -> None:
    made = [make_pending(endpoint=worker.endpoint, payload={"n": n}).pk for n in range(3)]
    assert ids(worker) == made[::-1]
    (first, *_) = worker.get("todos").json()["todos"]
    assert first["title"]
    assert not {"payload", "result"} & first.keys()


def test_page_by_page_while_others_create_and_claim(worker: Worker) -> None:
    made = [make_pending(endpoint=worker.endpoint).pk for _ in range(7)]
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = worker.get("todos", limit="3", **cursor).json()
        seen += [todo["id"] for todo in page["todos"]]
        make_pending(endpoint=worker.endpoint)
        worker.post("todos/claim_next")
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == made[::-1]


@pytest.mark.parametrize("count", [2, 3])
def test_there_is_no_page_after_the_last(count: int, worker: Worker) -> None:
    for _ in range(count):
        make_pending(endpoint=worker.endpoint)
    page = worker.get("todos", limit="2").json()
    assert (len(page["todos"]), page["next_cursor"] is None) == (2, count == 2)


def test_by_queue_and_state(worker: Worker) -> None:
    made = {
        (queue, condition): make(condition, endpoint=worker.endpoint, queue=queue)
        for queue in ("inbox", "reviews")
        for condition in MAKERS
    }
    assert len(ids(worker)) == len(made)
    for state in State:
        wanted = {todo.pk for todo in made.values() if todo.state == state}
        assert set(ids(worker, state=state)) == wanted
        narrowed = {pk for pk in wanted if Todo.objects.get(pk=pk).queue == "inbox"}
        assert set(ids(worker, state=state, queue="inbox")) == narrowed
    assert ids(worker) == sorted(ids(worker), reverse=True)


def test_50_unless_it_says_otherwise_and_200_at_most(worker: Worker) -> None:
    for _ in range(201):
        make_pending(endpoint=worker.endpoint)
    assert len(ids(worker)) == 50
    assert len(ids(worker, limit="200")) == 200
