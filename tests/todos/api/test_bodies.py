"""What is wrong with a request is said in one shape, names the field, and changes nothing."""

from typing import Any

import pytest

from tests.factories import make_claimed
from tests.todos.api.asked import EVERY, WITH_A_BODY
from tests.todos.api.conftest import Worker, trouble
from todos import inputs
from todos.models import Todo

GOOD = {"queue": "inbox", "title": "letter"}
DEEP: Any = 1
for _ in range(inputs.MAX_JSON_DEPTH + 1):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("title", "", "title must not be empty"),
        ("title", " ", "title must not be empty"),
        ("title", 7, "title must be a string"),
        ("title", None, "title must be a string"),
        ("title", "x" * 201, "title must have at most 200 characters"),
        ("title", "a\nb", "title must not contain control characters or lone surrogates"),
        ("title", "\ud800", "title must not contain lone surrogates"),
        ("queue", "", "queue must not be empty"),
        ("kind", "x" * 201, "kind must have at most 200 characters"),
        ("source", 1, "source must be a string"),
        ("idempotency_key", "", "idempotency_key must not be empty"),
        ("assignee", "x" * 201, "assignee must have at most 200 characters"),
        ("max_attempts", 0, "max_attempts must be at least 1"),
        ("max_attempts", 2**31, "max_attempts must be at most 2147483647"),
        ("max_attempts", 10**400, "max_attempts must be at most 2147483647"),
        ("max_attempts", "5", "max_attempts must be a whole number"),
        ("max_attempts", 5.5, "max_attempts must be a whole number"),
        ("max_attempts", True, "max_attempts must be a whole number"),
        ("payload", "\x00", "payload must not contain NUL characters"),
        ("payload", {"a": "\ud800"}, "payload must not contain lone surrogates"),
        ("payload", DEEP, "payload must not be nested more than 100 levels deep"),
        ("titel", "x", "titel is not a field of this request"),
    ],
)
def test_a_field_that_is_refused(field: str, value: Any, message: str, worker: Worker) -> None:
    error = trouble(worker.post("todos", **GOOD | {field: value}), 422)
    assert error == {"code": "invalid_argument", "message": message, "field": field}
    assert not Todo.objects.exists()


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("claim_next", {"queues": []}, "queues"),
        ("claim_next", {"queues": "inbox"}, "queues"),
        ("claim_next", {"queues": [1]}, "queues"),
        ("claim_next", {"lease_ttl_seconds": 0}, "lease_ttl_seconds"),
        ("claim_next", {"fence": 1}, "fence"),
        ("claim_next", {"claimant": None}, "claimant"),
        ("{id}/heartbeat", {"lease_ttl_seconds": -1}, "lease_ttl_seconds"),
        ("{id}/heartbeat", {"lease_token": 7}, "lease_token"),
        ("{id}/complete", {"artifact": "ftp://x"}, "artifact"),
        ("{id}/complete", {"summary": 7}, "summary"),
        ("{id}/release", {"result": 1}, "result"),
        ("{id}/interrupt", {}, "state"),
        ("{id}/interrupt", {"state": "done"}, "state"),
        ("{id}/resume", {"lease_token": "x"}, "lease_token"),
        ("{id}/retry", {"why": 1}, "why"),
    ],
)
def test_the_field_is_named(path: str, body: Any, field: str, worker: Worker) -> None:
    todo = make_claimed(endpoint=worker.endpoint, owner=worker.owner)
    before = Todo.objects.values().get()
    error = trouble(worker.post(f"todos/{path.format(id=todo.pk)}", **body), 422)
    assert (error["code"], error["field"]) == ("invalid_argument", field)
    assert Todo.objects.values().get() == before


@pytest.mark.parametrize(
    ("path", "params", "field"),
    [
        ("todos", {"limit": "0"}, "limit"),
        ("todos", {"limit": "201"}, "limit"),
        ("todos", {"limit": "many"}, "limit"),
        ("todos", {"state": "lost"}, "state"),
        ("todos", {"cursor": "x"}, "cursor"),
        ("todos", {"stat": "done"}, "stat"),
        ("todos", {"offset": "10"}, "offset"),
        ("todos/td_x", {"attempts_limit": "-1"}, "attempts_limit"),
    ],
)
def test_a_parameter_that_is_refused(
    path: str, params: dict[str, str], field: str, worker: Worker
) -> None:
    error = trouble(worker.get(path, **params), 422)
    assert (error["code"], error["field"]) == ("invalid_argument", field)


JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("name", WITH_A_BODY)
@pytest.mark.parametrize(
    "content",
    [b"{", b"[]", b"7", b"null", b'"x"', b"\xff", b'{"result": NaN}', b"[" * 100_000, b"7" * 5_000],
    ids=lambda content: str(content[:12]),
)
def test_a_body_that_is_no_json_object(name: str, content: bytes, worker: Worker) -> None:
    asked = WITH_A_BODY[name]
    answer = worker.request(asked.method, asked.path, content=content, headers=JSON)
    assert trouble(answer, 422)["code"] == "invalid_argument"


@pytest.mark.parametrize("name", WITH_A_BODY)
@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
        {},
    ],
    ids=str,
)
def test_a_body_of_another_kind(name: str, headers: dict[str, str], worker: Worker) -> None:
    asked = WITH_A_BODY[name]
    answer = worker.request(asked.method, asked.path, content=b"{}", headers=headers)
    assert trouble(answer, 415)["code"] == "unsupported_media_type"


def test_json_may_say_that_it_is_utf_8(worker: Worker) -> None:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    body = '{"queue": "inbox", "title": "ä"}'.encode()
    answer = worker.request("POST", "todos", content=body, headers=headers)
    assert answer.json()["todo"]["title"] == "ä"


@pytest.mark.parametrize("name", WITH_A_BODY)
def test_a_body_has_at_most_256_kib(name: str, worker: Worker) -> None:
    asked = WITH_A_BODY[name]
    limit = 256 * 1024
    answers = [
        worker.request(asked.method, asked.path, content=b" " * size + b"{", headers=JSON)
        for size in (limit - 1, limit)
    ]
    trouble(answers[0], 422)
    assert trouble(answers[1], 413)["code"] == "too_large"
    assert not Todo.objects.exists()


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"])
def test_another_method(name: str, method: str, worker: Worker) -> None:
    answer = worker.request(method, EVERY[name].path.format(id="td_x"))
    assert answer.status_code == 405
    assert EVERY[name].method in answer.headers["Allow"]


def test_no_such_address(worker: Worker) -> None:
    for path in ("", "nothing", "todos/td_x/explode", "../v2/whoami"):
        assert trouble(worker.get(path), 404)["code"] == "not_found"


def test_every_answer_has_the_security_headers_and_no_cookie(worker: Worker) -> None:
    for path in ("whoami", "todos/td_x", "nothing", "openapi.json", "docs"):
        answer = worker.get(path)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert answer.headers["X-Request-ID"]
        assert "Set-Cookie" not in answer.headers
        assert "Vary" not in answer.headers
