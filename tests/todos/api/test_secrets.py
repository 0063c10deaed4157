"""What must not be in a log is in none; and a fault of ours tells its id and nothing else."""

import logging
from typing import Any

import pytest

from tests.todos.api.conftest import Worker, trouble
from todos import transitions
from todos.transitions import worker as worker_transitions

SECRETS = {
    "payload": "the payload of this todo",
    "result": "the result of this todo",
    "summary": "the summary of this attempt",
    "title": "a title",
}


def test_nothing_of_a_request_is_logged(
    worker: Worker, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with caplog.at_level(logging.INFO):
        made = worker.post("todos", queue="inbox", title="x", payload=SECRETS["payload"]).json()[
            "todo"
        ]
        claim = worker.post("todos/claim_next", fence=True).json()
        path, token = f"todos/{made['id']}", claim["lease_token"]
        report = {"result": SECRETS["result"], "summary": SECRETS["summary"], "lease_token": token}
        trouble(worker.post(f"{path}/complete", **report | {"artifact": "x"}), 422)
        trouble(worker.post(f"{path}/complete", **report | {"lease_token": token + "x"}), 409)
        monkeypatch.setattr(transitions, "complete", _fails_quoting)
        trouble(worker.post(f"{path}/complete", **report), 500)
        monkeypatch.undo()
        worker.post(f"{path}/complete", **report)
        worker.request("GET", "whoami", headers={"Authorization": f"Basic {worker.credential}"})
        worker.request("POST", path, content=SECRETS["payload"].encode())
    for secret in (*SECRETS.values(), token, worker.credential, worker.credential[12:]):
        assert secret not in caplog.text


def _fails_quoting(*args: Any, **fields: Any) -> None:
    # As PostgreSQL does it: DETAIL: Failing row contains (…).
    raise RuntimeError(f"{args} {fields}")


def test_a_fault_tells_its_id_and_the_log_has_it(
    worker: Worker, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transitions, "claim_next", _fails_quoting)
    answer = worker.post("todos/claim_next", claimant="me")
    error = trouble(answer, 500)
    assert (error["code"], error["id"]) == ("internal", answer.headers["X-Request-ID"])
    assert error.keys() == {"code", "message", "id"}
    (record,) = [r for r in caplog.records if r.levelno >= logging.ERROR]
    assert error["id"] in record.getMessage()
    assert "RuntimeError" in record.getMessage()
    assert "_fails_quoting" in record.getMessage()
    assert str(worker_transitions.__file__) not in answer.text
