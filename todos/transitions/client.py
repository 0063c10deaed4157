"""What a client or an operator does with a todo: ask for work, answer, call it off."""

from typing import Any

from django.db import IntegrityError, transaction

from todos import hooks, inputs, lease
from todos.errors import EndpointInactive, InvalidInput, TodoConflict, TodoNotFound
from todos.models import Endpoint, Todo, new_todo_id
from todos.rows import todo_from
from todos.sql import fetch_one
from todos.transitions._run import TRIES, owner_of, refusal, run, scope
from todos.transitions._run import transition as make_transition


def create(
    endpoint: Endpoint,
    *,
    queue: str,
    title: str,
    payload: Any = None,
    kind: str = "",
    source: str = "",
    idempotency_key: str | None = None,
    assignee: str | None = None,
    max_attempts: int = 5,
) -> tuple[Todo, bool]:
    """Put work into a queue. With the key of a live todo, return that one and False."""
    if endpoint is None:
        raise InvalidInput("endpoint", "create needs an endpoint")
    params = {
        "endpoint": scope(endpoint),
        "id": new_todo_id(),
        "queue": inputs.queue_name(queue),
        "title": inputs.label("title", title),
        "payload": inputs.json_text("payload", payload),
        "kind": inputs.label("kind", kind, empty=True),
        "source": inputs.label("source", source, empty=True),
        "idempotency_key": inputs.optional_label("idempotency_key", idempotency_key),
        "assignee": inputs.optional_label("assignee", assignee),
        "max_attempts": inputs.whole_number(
            "max_attempts", max_attempts, at_least=1, at_most=inputs.MAX_INT4
        ),
    }
    # The live todo that has the key may end between the two statements: until one finds it,
    # or makes its successor.
    while True:
        row = fetch_one("create", params)
        if row is None:
            raise TodoNotFound("endpoint")
        active, granted = row[:2]
        if not active:
            raise EndpointInactive
        if not granted:
            raise InvalidInput("queue", "must be granted to the endpoint")
        if todo := todo_from(row):
            hooks.announce("create", [todo])
            return todo, True
        if (row := fetch_one("find_by_key", params)) and (todo := todo_from(row)):
            return todo, False


def resume(
    endpoint: Endpoint | None,
    todo_id: str,
    *,
    owner: str | None,
    result: Any = None,
    lease_ttl_seconds: int | None = None,
    renew_lease: bool = False,
) -> Todo:
    """Answer a wait; its holder goes on, under the lease that it has.

    With a lease in seconds that is counted anew; with `renew_lease` alone, by the lease rule.
    """
    params = {
        "endpoint": scope(endpoint),
        "id": inputs.todo_id(todo_id),
        "owner": owner_of(endpoint, owner),
        "result": inputs.json_text("result", result),
        "renew": renew_lease or lease_ttl_seconds is not None,
        "ttl": lease.requested(lease_ttl_seconds),
        "server_ttl": lease.SERVER_DEFAULT,
    }
    return make_transition("resume", params)


def cancel(endpoint: Endpoint | None, todo_id: str, *, result: Any = None) -> Todo:
    """Call off a live todo, whoever holds it."""
    text = inputs.json_text("result", result)
    summary, truncated = inputs.summary_text(None, text)
    report = {"summary": summary, "summary_truncated": truncated, "artifact": None}
    return make_transition("cancel", _params(endpoint, todo_id) | report | {"result": text})


def reject(endpoint: Endpoint | None, todo_id: str, *, result: Any = None) -> Todo:
    """Refuse a todo that nobody has claimed."""
    params = _params(endpoint, todo_id) | {"result": inputs.json_text("result", result)}
    return make_transition("reject", params)


def retry(endpoint: Endpoint | None, todo_id: str) -> Todo:
    """Bring a failed todo back, its attempts counted anew."""
    params = _params(endpoint, todo_id)
    for tries_left in reversed(range(TRIES)):
        try:
            with transaction.atomic():
                found, row = run("retry", params)
                break
        except IntegrityError as error:
            # A rival with its key was committed meanwhile: the next run names it.
            if not tries_left or "todos_live_key_unique" not in str(error):
                raise
    if todo := todo_from(row):
        hooks.announce("retry", [todo])
        return todo
    active, rival = row[4:6]
    if found.state == "failed" and not active:
        raise EndpointInactive
    if found.state == "failed" and rival:
        raise TodoConflict(f"its key belongs to another live todo, {rival}", state=found.state)
    raise refusal("retry", found, None)


def _params(endpoint: Endpoint | None, todo_id: str) -> dict[str, Any]:
    return {"endpoint": scope(endpoint), "id": inputs.todo_id(todo_id)}
