"""What is not granted is refused before anything is read or written."""

from datetime import timedelta
from typing import Any

import pytest

from tests.factories import MAKERS, make
from tests.todos.api.asked import EVERY, WITH_A_BODY
from tests.todos.api.conftest import ALL, Hire, Worker, trouble
from todos import endpoints, selectors
from todos.models import Attempt, Endpoint, Todo
from todos.verbs import DRAIN, Verb


def everything() -> list[Any]:
    return [list(model.objects.order_by("pk").values()) for model in (Todo, Attempt)]


@pytest.mark.parametrize("name", [name for name, asked in EVERY.items() if asked.verb])
def test_a_verb_that_is_not_granted(name: str, hire: Hire) -> None:
    asked = EVERY[name]
    worker = hire(verbs=[verb for verb in ALL if verb != asked.verb])
    ids = [make(condition, endpoint=worker.endpoint).pk for condition in MAKERS]
    before = everything()
    answers = {worker.ask(asked, todo_id).content for todo_id in [*ids, "td_missing"]}
    assert len(answers) == 1
    error = trouble(worker.ask(asked, ids[0]), 403)
    assert error == {
        "code": "forbidden",
        "message": f"the credential does not grant {asked.verb}",
    }
    assert everything() == before


@pytest.mark.parametrize("name", WITH_A_BODY)
def test_that_it_is_not_granted_comes_before_what_is_wrong_with_it(name: str, hire: Hire) -> None:
    worker = hire(verbs=[verb for verb in ALL if verb != EVERY[name].verb])
    for wrong in ({"json": {"nonsense": 1}}, {"content": b"{"}):
        trouble(worker.request("POST", EVERY[name].path, **wrong), 403)


@pytest.mark.parametrize("verb", Verb)
def test_one_verb_grants_itself_alone(verb: Verb, hire: Hire) -> None:
    worker = hire(verbs=[verb])
    assert worker.get("whoami").json()["verbs"] == [verb]
    for asked in EVERY.values():
        if asked.verb not in (None, verb):
            trouble(worker.ask(asked, "td_x"), 403)


def test_the_default_grant_drains(hire: Hire) -> None:
    worker = hire(verbs=None)
    assert worker.get("whoami").json()["verbs"] == list(DRAIN)
    refused = {
        name
        for name, asked in EVERY.items()
        # A stream that is granted would not end.
        if name != "events" and worker.ask(asked, "td_x").status_code == 403
    }
    assert refused == {"create", "cancel", "reject", "retry"}


@pytest.mark.parametrize(
    ("method", "path", "fields"),
    [
        ("POST", "todos", {"json": {"queue": "secret", "title": "x"}}),
        ("POST", "todos/claim_next", {"json": {"queues": ["inbox", "secret"]}}),
        ("GET", "todos", {"params": {"queue": "secret"}}),
    ],
)
def test_a_queue_that_is_not_granted(
    method: str, path: str, fields: dict[str, Any], worker: Worker
) -> None:
    make("pending", endpoint=worker.endpoint)
    before = everything()
    error = trouble(worker.request(method, path, **fields), 403)
    assert error["message"] == "the credential does not grant the queue 'secret'"
    assert everything() == before


@pytest.mark.parametrize("name", EVERY)
def test_without_a_credential_nothing_is_said(name: str, worker: Worker) -> None:
    mine = make("pending", endpoint=worker.endpoint)
    before = everything()
    headers: list[dict[str, str]] = [
        {"Authorization": "Bearer sbk_wrong"},
        {"Authorization": f"Bearer {worker.credential}x"},
        {"Authorization": f"Bearer {worker.credential[:-1]}"},
        {"Authorization": f"Basic {worker.credential}"},
        {"Authorization": worker.credential},
        {"Authorization": "Bearer "},
        {"Authorization": ""},
    ]
    for each in headers:
        answer = worker.ask(EVERY[name], mine.pk, headers=each)
        assert trouble(answer, 401)["code"] == "unauthenticated"
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert everything() == before


@pytest.mark.parametrize("name", EVERY)
def test_a_revoked_or_expired_credential_is_none(name: str, hire: Hire) -> None:
    revoked, expired = hire(), hire(expires_at=selectors.now() + timedelta(hours=1))
    endpoints.revoke(revoked.endpoint)
    Endpoint.objects.filter(pk=expired.endpoint.pk).update(
        expires_at=selectors.now() - timedelta(seconds=1)
    )
    answers = {worker.ask(EVERY[name], "td_x").content for worker in (revoked, expired)}
    wrong = revoked.ask(EVERY[name], "td_x", headers={"Authorization": "Bearer x"})
    assert answers == {wrong.content}
    trouble(wrong, 401)
