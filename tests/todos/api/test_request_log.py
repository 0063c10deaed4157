"""What the log says of a request to the API."""

import logging
import re

import pytest

from tests.todos.api.conftest import Hire
from todos import transitions
from todos.tracing import current


@pytest.fixture(autouse=True)
def _hear(caplog: pytest.LogCaptureFixture) -> None:
    # Not the root's: httpx, the client here, logs the addresses that it asks.
    for name in ("switchboard", "todos", "settings_app"):
        caplog.set_level(logging.DEBUG, name)


def the_line(caplog: pytest.LogCaptureFixture) -> str:
    (line,) = [r.getMessage() for r in caplog.records if r.name == "switchboard.requests"]
    return line


@pytest.mark.django_db(transaction=True)
def test_a_claim_can_be_followed_from_its_id_to_its_transition(
    hire: Hire, caplog: pytest.LogCaptureFixture
) -> None:
    worker = hire()
    todo, _ = transitions.create(worker.endpoint, queue="inbox", title="a secret title")
    answer = worker.request(
        "POST",
        "todos/claim_next?secret=1",
        json={"claimant": "a secret claimant", "fence": True},
        headers={"X-Request-ID": "worker-7.1"},
    )
    assert answer.status_code == 200
    assert answer.headers.get_list("X-Request-ID") == ["worker-7.1"]
    assert re.fullmatch(
        r"request method=POST path=/api/v1/todos/claim_next status=200 ms=\d+\.\d"
        rf" who=endpoint:{worker.endpoint.pk} did=claim:{todo.pk}",
        the_line(caplog),
    )
    for secret in ("secret", worker.credential, answer.json()["lease_token"]):
        assert secret not in caplog.text
    assert current() is None


def test_whoever_is_not_known_has_no_name(hire: Hire, caplog: pytest.LogCaptureFixture) -> None:
    answer = hire().request("GET", "whoami", headers={"Authorization": "Bearer a-secret"})
    assert answer.status_code == 401
    assert len(answer.headers.get_list("X-Request-ID")) == 1
    line = the_line(caplog)
    assert "status=401" in line
    assert "who=" not in line
    assert "secret" not in caplog.text
