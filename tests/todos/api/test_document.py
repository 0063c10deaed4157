"""The OpenAPI document says what there is: verbs, codes, states, bounds."""

import re
from typing import Any

import httpx
import pytest
from django.contrib.staticfiles import finders
from ninja.operation import Operation
from pydantic import TypeAdapter

from tests.factories import make
from tests.todos.api.asked import EVERY
from tests.todos.api.conftest import Worker
from todos import inputs
from todos.api import answers, document, schemas
from todos.api import urls as _that_have_the_routes  # noqa: F401
from todos.api.app import api
from todos.api.calls import Credential
from todos.api.problems import STATUS
from todos.models import Attempt, Todo
from todos.states import INTERRUPT_STATES, State
from todos.verbs import Verb


@pytest.fixture
def told(worker: Worker) -> dict[str, Any]:
    answer = worker.request("GET", "openapi.json", headers={"Authorization": ""})
    assert answer.status_code == 200
    document: dict[str, Any] = answer.json()
    return document


def operations() -> list[Operation]:
    return [
        operation
        for bound in api._get_bound_routers()
        for view in bound.path_operations.values()
        for operation in view.operations
    ]


def test_the_verbs_are_those_of_the_routes() -> None:
    needed = {}
    for operation in operations():
        (credential,) = operation.auth_callbacks
        assert isinstance(credential, Credential)
        needed[operation.operation_id] = credential.verb
    assert needed == {name: asked.verb for name, asked in EVERY.items()}
    assert set(Verb) == set(needed.values()) - {None}


def test_each_operation_is_described_with_its_refusals(told: dict[str, Any]) -> None:
    for path in told["paths"].values():
        for operation in path.values():
            assert operation["description"]
            assert operation["security"] == [{"Credential": []}]
            assert {"401", "500", "503"} <= set(operation["responses"])
            for answer in operation["responses"].values():
                assert answer["description"]
                assert "X-Request-ID" in answer["headers"]
    assert told["components"]["securitySchemes"]["Credential"] == {
        "type": "http",
        "scheme": "bearer",
    }


def test_each_code_is_explained_once_with_an_example() -> None:
    assert set(document.ERRORS) == set(STATUS)
    assert len(set(STATUS.values())) == len(STATUS)
    for code, (_, example) in document.ERRORS.items():
        schemas.Error.model_validate({"error": {"code": code, **example}})


def test_the_lists_in_it_are_those_of_the_code(told: dict[str, Any]) -> None:
    kinds = told["components"]["schemas"]
    assert kinds["State"]["enum"] == State.values
    assert kinds["Interrupt"]["properties"]["state"]["enum"] == list(INTERRUPT_STATES)
    assert set(kinds["Trouble"]["properties"]["code"]["enum"]) == set(STATUS)


def test_its_bounds_are_those_of_the_inputs(told: dict[str, Any]) -> None:
    create = told["components"]["schemas"]["Create"]["properties"]
    assert create["title"]["maxLength"] == inputs.MAX_LABEL_LENGTH
    assert create["max_attempts"]["maximum"] == inputs.MAX_INT4
    assert create["max_attempts"]["default"] == 5


def test_what_is_shown_of_a_row() -> None:
    columns = {field.attname for field in Todo._meta.concrete_fields} - {"endpoint_id"}
    assert set(schemas.Todo.model_fields) == columns | {"dead_letter"}
    assert set(answers.ATTEMPT_FIELDS) == set(schemas.Attempt.model_fields)
    columns = {field.attname for field in Attempt._meta.concrete_fields}
    hidden = {"id", "todo_id", "claimer_endpoint_id", "lease_token_hash", "waited_since"}
    assert set(answers.ATTEMPT_FIELDS) == columns - hidden | {"died"}


@pytest.mark.parametrize("condition", ["pending", "claimed", "input-required", "done"])
def test_answers_are_as_it_says(condition: str, worker: Worker) -> None:
    todo = make(condition, endpoint=worker.endpoint, payload={"a": None})
    check(worker.get("whoami"), schemas.Whoami)
    check(worker.get("todos"), schemas.Page)
    check(worker.get(f"todos/{todo.pk}"), schemas.Detail)
    check(worker.post("todos", queue="inbox", title="x"), schemas.Created)
    check(worker.post("todos/claim_next", fence=True), schemas.Claim)
    check(worker.post(f"todos/{todo.pk}/cancel", result=[1]), (schemas.Todo, schemas.Error))
    check(worker.post(f"todos/{todo.pk}/cancel"), schemas.Error)


def check(answer: httpx.Response, kind: Any) -> None:
    wanted = kind if isinstance(kind, tuple) else (kind,)
    adapter: TypeAdapter[Any] = TypeAdapter(wanted[(answer.status_code >= 400 and -1) or 0])
    adapter.validate_json(answer.content)


def test_the_page_asks_nobody_else(worker: Worker) -> None:
    page = worker.request("GET", "docs", headers={"Authorization": ""})
    assert page.status_code == 200
    assert "http://" not in page.text
    assert "https://" not in page.text
    assert "'self'" in page.headers["Content-Security-Policy"]
    assert "http" not in page.headers["Content-Security-Policy"]
    for path in re.findall(r'(?:href|src)="/static/([^"]+)"', page.text):
        assert finders.find(path), path
    assert '"url": "/api/v1/openapi.json"' in page.text
