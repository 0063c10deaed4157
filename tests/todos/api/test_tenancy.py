"""Another endpoint's todo and one that never was look alike, on every route, to the byte."""

import pytest

from tests.factories import MAKERS, make
from tests.todos.api.asked import ON_A_TODO
from tests.todos.api.conftest import Hire, Worker, trouble
from todos.models import Attempt, Todo, new_todo_id


@pytest.mark.parametrize("name", ON_A_TODO)
def test_a_foreign_todo_and_a_missing_one_are_the_same(name: str, hire: Hire) -> None:
    worker, stranger = hire(), hire()
    theirs = [make(condition, endpoint=stranger.endpoint) for condition in MAKERS]
    before = [list(Todo.objects.order_by("pk").values()), list(Attempt.objects.values())]
    ids = [new_todo_id(), "td_", "x", "ä", "%00", "'", *(todo.pk for todo in theirs)]
    answers = set()
    for todo_id in ids:
        answer = worker.ask(ON_A_TODO[name], todo_id)
        assert trouble(answer, 404)["code"] == "not_found"
        headers = {k: v for k, v in answer.headers.items() if k != "x-request-id"}
        answers.add((answer.content, str(headers)))
    assert len(answers) == 1
    assert [list(Todo.objects.order_by("pk").values()), list(Attempt.objects.values())] == before


@pytest.mark.parametrize("name", ON_A_TODO)
def test_one_s_own_is_found(name: str, worker: Worker) -> None:
    for condition in MAKERS:
        mine = make(condition, endpoint=worker.endpoint)
        assert worker.ask(ON_A_TODO[name], mine.pk).status_code in (200, 409)


def test_a_queue_of_the_same_name_is_another_s(hire: Hire) -> None:
    worker, stranger = hire(), hire()
    make("pending", endpoint=stranger.endpoint, queue="inbox")
    assert worker.get("todos").json()["todos"] == []
    assert worker.post("todos/claim_next").status_code == 204
    assert len(stranger.get("todos").json()["todos"]) == 1


def test_a_key_is_one_endpoint_s(hire: Hire) -> None:
    made = [
        hire().post("todos", queue="inbox", title="x", idempotency_key="k").json() for _ in range(2)
    ]
    assert [answer["created"] for answer in made] == [True, True]
