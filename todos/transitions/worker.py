"""What a worker does with a todo: take it, keep it, and let go of it."""

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from settings_app import reading, registry
from todos import hooks, inputs, lease
from todos.errors import EndpointInactive, InvalidInput, TodoConflict, TodoNotFound
from todos.models import Attempt, Endpoint, Todo
from todos.rows import todo_from
from todos.sql import execute, fetch_one
from todos.states import INTERRUPT_STATES
from todos.transitions._run import owner_of, refusal, run, scope, transition

PRIOR_ATTEMPTS = 5
OPERATOR = "operator"
"""The owner that a claim by an operator without a name writes."""


@dataclass(frozen=True)
class Claim:
    """A claimed todo, and what its claimant needs to know of its past."""

    todo: Todo
    attempt_seq: int
    attempts_total: int
    lease_token: str | None = field(repr=False)
    """The fence, if one was asked for: returned here once, and stored only as its SHA-256."""
    prior_attempts: list[Attempt]
    """The five latest closed attempts, newest first."""


def claim(
    endpoint: Endpoint | None,
    todo_id: str,
    *,
    owner: str | None,
    lease_ttl_seconds: int | None = None,
    claimant: str = "",
    fence: bool = False,
) -> Claim:
    """Take one given todo under a lease of so many seconds."""
    token = _new_token(fence)
    params = {
        **_claim_params(endpoint, owner, lease_ttl_seconds, claimant, token),
        "id": inputs.todo_id(todo_id),
    }
    found, row = run("claim", params)
    todo = todo_from(row)
    if todo is not None:
        return _claimed(todo, token)
    active, assigned, claimable = row[4:7]
    if not active:
        raise EndpointInactive
    if claimable and not assigned:
        raise TodoConflict("the todo is assigned to someone else", state=found.state)
    raise TodoConflict(
        f"the todo is {found.condition}; claimable are pending todos, lapsed leases below the "
        "cap and due retries",
        state=found.state,
    )


def claim_next(
    endpoint: Endpoint,
    queues: Sequence[str] | None,
    *,
    owner: str,
    lease_ttl_seconds: int | None = None,
    claimant: str = "",
    fence: bool = False,
) -> Claim | None:
    """Take the oldest claimable todo of these queues (None: of all granted), if there is one."""
    if endpoint is None:
        raise InvalidInput("endpoint", "claim_next needs an endpoint")
    token = _new_token(fence)
    params = {
        **_claim_params(endpoint, owner, lease_ttl_seconds, claimant, token),
        "queues": None if queues is None else inputs.queue_names(queues),
    }
    # Others may take what a statement saw, while new work arrives: it looks again until it sees
    # nothing, or nothing new, which is what others hold locked.
    seen: list[str] | None = None
    while True:
        row = fetch_one("claim_next", params)
        if row is None:
            raise TodoNotFound("endpoint")
        active, granted, heads = row[:3]
        if not active:
            raise EndpointInactive
        if not granted:
            raise InvalidInput("queues", "must be granted to the endpoint")
        todo = todo_from(row)
        if todo is not None:
            return _claimed(todo, token)
        if heads in ([], seen):
            return None
        seen = heads


def heartbeat(
    endpoint: Endpoint | None,
    todo_id: str,
    *,
    owner: str | None,
    lease_ttl_seconds: int | None = None,
    lease_token: str | None = None,
) -> Todo:
    """Count the lease of a claimed todo anew. A wait has no heartbeat (ADR-0046)."""
    params = {
        **_holder_params(endpoint, todo_id, owner, lease_token),
        "ttl": lease.requested(lease_ttl_seconds),
        "server_ttl": lease.SERVER_DEFAULT,
    }
    found, row = run("heartbeat", params)
    todo = todo_from(row)
    if todo is None:
        raise refusal("heartbeat", found, params["owner"])
    return todo


def complete(
    endpoint: Endpoint | None,
    todo_id: str,
    *,
    owner: str | None,
    result: Any = None,
    summary: str | None = None,
    artifact: str | None = None,
    lease_token: str | None = None,
) -> Todo:
    """End a claimed todo as done."""
    params = _holder_params(endpoint, todo_id, owner, lease_token)
    return transition("complete", params | _report_params(result, summary, artifact))


def fail(
    endpoint: Endpoint | None,
    todo_id: str,
    *,
    owner: str | None,
    result: Any = None,
    summary: str | None = None,
    artifact: str | None = None,
    lease_token: str | None = None,
) -> Todo:
    """End an attempt as failed: retried after a backoff, or at the cap a dead letter."""
    params = _holder_params(endpoint, todo_id, owner, lease_token)
    return transition("fail", params | _report_params(result, summary, artifact))


def release(
    endpoint: Endpoint | None,
    todo_id: str,
    *,
    owner: str | None,
    summary: str | None = None,
    artifact: str | None = None,
    lease_token: str | None = None,
) -> Todo:
    """Put a claimed todo back for another worker; its attempt stays used."""
    params = _holder_params(endpoint, todo_id, owner, lease_token)
    return transition("release", params | _report_params(None, summary, artifact))


def interrupt(
    endpoint: Endpoint | None,
    todo_id: str,
    *,
    owner: str | None,
    state: str,
    result: Any = None,
    lease_token: str | None = None,
) -> Todo:
    """Wait for a client while keeping the todo; `result` says what is asked (ADR-0046)."""
    if state not in INTERRUPT_STATES:
        raise InvalidInput("state", f"must be {' or '.join(INTERRUPT_STATES)}")
    params = {
        **_holder_params(endpoint, todo_id, owner, lease_token),
        "state": str(state),
        "result": inputs.json_text("result", result),
    }
    return transition("interrupt", params)


def _new_token(fence: object) -> str | None:
    if not isinstance(fence, bool):
        raise InvalidInput("fence", "must be true or false")
    return secrets.token_urlsafe(32) if fence else None


def token_hash(token: object) -> bytes | None:
    """Of a lease token: what is stored and compared. What is no text fits nothing ever stored."""
    if isinstance(token, str):
        return hashlib.sha256(token.encode(errors="surrogatepass")).digest()
    return None if token is None else b""


def _claim_params(
    endpoint: Endpoint | None,
    owner: str | None,
    lease_ttl_seconds: int | None,
    claimant: str,
    token: str | None,
) -> dict[str, Any]:
    kinds = Attempt.ClaimerKind
    return {
        "endpoint": scope(endpoint),
        "owner": owner_of(endpoint, owner) or OPERATOR,
        "claimer_kind": str(kinds.OWNER if endpoint is None else kinds.ENDPOINT),
        "ttl": lease.requested(lease_ttl_seconds),
        "server_ttl": lease.SERVER_DEFAULT,
        "claimant": inputs.claimant_label(claimant),
        "token": token_hash(token),
    }


def _holder_params(
    endpoint: Endpoint | None, todo_id: str, owner: str | None, lease_token: str | None
) -> dict[str, Any]:
    return {
        "endpoint": scope(endpoint),
        "id": inputs.todo_id(todo_id),
        "owner": owner_of(endpoint, owner),
        "token": token_hash(lease_token),
    }


def _report_params(result: Any, summary: object, artifact: object) -> dict[str, Any]:
    text = inputs.json_text("result", result)
    short, truncated = inputs.summary_text(summary, text)
    return {
        "result": text,
        "summary": short,
        "summary_truncated": truncated,
        "artifact": inputs.artifact_url(artifact),
    }


def _claimed(todo: Todo, token: str | None) -> Claim:
    hooks.announce("claim", [todo])
    seq = todo.attempts_total
    prior: list[Attempt] = []
    if seq > 1:
        prior = list(todo.attempts.filter(seq__lt=seq).order_by("-seq")[:PRIOR_ATTEMPTS])
        # Last, since at the floor of the bound the fifth of them goes in this very claim.
        _prune_history(todo)
    return Claim(todo, seq, seq, token, prior)


def _prune_history(todo: Todo) -> None:
    kept = todo.attempts_total - todo.attempts_pruned
    # The setting is read only where it can matter: its floor is never pruned.
    if kept <= registry.ATTEMPT_HISTORY_MAX.floor:
        return
    keep = reading.attempt_history_max_per_todo()
    if keep is not None and kept > keep:
        execute("prune_history", {"id": todo.pk, "keep": keep})
        todo.refresh_from_db(fields=["attempts_pruned"])
