"""Endpoints: vended, revoked, expired (the domain: Words, Transitions)."""

import hashlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import DEFAULT_DB_ALIAS, IntegrityError, transaction

from todos import hooks, inputs, lease
from todos.batches import Row, announce, drain, in_batches
from todos.errors import InvalidInput, TodoConflict, TodoNotFound
from todos.models import Endpoint
from todos.sql import execute, fetch_all, fetch_one
from todos.verbs import DRAIN

_PREFIX_LENGTH = 12
MAX_METRIC_QUEUES = 200
"""How many queues metrics name; the rest is counted under `__other__`."""


def vend(
    *,
    name: str,
    queues: Sequence[str],
    owner: User | None = None,
    default_lease_ttl_seconds: int | None = None,
    expires_at: datetime | None = None,
    endpoint_id: UUID | None = None,
    verbs: Sequence[str] | None = None,
) -> tuple[Endpoint, str]:
    """A new endpoint and its credential, which is returned here once and stored only as a hash.

    Its scope, queues and verbs (by default those that drain a queue), never changes afterwards.
    The default lease is in seconds, 60 to 86400. Under a given id only the first call vends: a
    second one is a TodoConflict.
    """
    if owner is not None and not isinstance(owner, User):
        raise InvalidInput("owner", f"must be a user, not {type(owner).__name__}")
    credential = f"sbk_{secrets.token_urlsafe(32)}"
    endpoint = Endpoint(
        name=inputs.label("name", name),
        queues=inputs.queue_names(queues),
        verbs=inputs.verb_names(DRAIN if verbs is None else verbs),
        owner=owner,
        default_lease_ttl_seconds=lease.endpoint_default(default_lease_ttl_seconds),
        expires_at=None if expires_at is None else inputs.moment("expires_at", expires_at),
        credential_hash=_hash(credential),
        credential_prefix=credential[:_PREFIX_LENGTH],
    )
    if endpoint_id is not None:
        endpoint.pk = endpoint_id
    with transaction.atomic():
        _insert(endpoint)
        execute("metric_queues_lock", {})
        execute("metric_queues_add", {"queues": endpoint.queues, "limit": MAX_METRIC_QUEUES})
    endpoint.refresh_from_db(fields=["created_at"])
    return endpoint, credential


def _insert(endpoint: Endpoint) -> None:
    try:
        endpoint.save(force_insert=True)
    except IntegrityError as error:
        if "endpoints_pkey" not in str(error):
            raise
        raise TodoConflict("an endpoint of that id was vended before") from None


def authenticate(credential: str) -> Endpoint | None:
    """The active endpoint of a credential; None if there is none (any more)."""
    row = fetch_one("endpoint_by_credential", {"hash": _hash(credential)})
    return None if row is None else Endpoint.from_db(DEFAULT_DB_ALIAS, _SCOPE, row)


_SCOPE = (
    "id",
    "name",
    "queues",
    "verbs",
    "default_lease_ttl_seconds",
    "created_at",
    "expires_at",
)
"""The columns of `sql/endpoint_by_credential.sql`, in its order."""


def _hash(credential: str) -> bytes:
    return hashlib.sha256(credential.encode(errors="surrogatepass")).digest()


def revoke(endpoint: Endpoint) -> Endpoint:
    """End an endpoint for good; its live todos become dead letters before this returns.

    The mark is committed first: from then on nothing can be created or claimed there. What a
    crash leaves, or a row that cannot be written now, the reaper's next tick finishes.
    """
    endpoint_id = inputs.endpoint_id(endpoint)
    marked = execute("endpoint_revoke", {"endpoint": endpoint_id})
    if not marked and not Endpoint.objects.filter(pk=endpoint_id).exists():
        raise TodoNotFound("endpoint")
    hooks.announce_end(endpoint_id)
    for _ in _revocation(endpoint_id, "revocation_lock"):
        pass
    return Endpoint.objects.get(pk=endpoint_id)


def finish_revocations(time_is_up: Callable[[], bool]) -> tuple[int, bool]:
    """Revoke what has expired, and finish every revocation that is not finished.

    Returns how many todos were dead-lettered and whether nothing failed.
    """
    ended: list[Any] = []
    _, found_well = drain(
        ("expired endpoints", _expire()), ("ended endpoints", _find(ended)), until=time_is_up
    )
    sweeps = [
        (f"revocation of {endpoint_id}", _revocation(endpoint_id, "revocation_lock_free"))
        for endpoint_id in ended
    ]
    revoked, finished_well = drain(*sweeps, until=time_is_up)
    return revoked, found_well and finished_well


def _expire() -> Iterator[int]:
    execute("endpoints_expire", {})
    yield 0


def _find(ended: list[Any]) -> Iterator[int]:
    ended += [endpoint_id for (endpoint_id,) in fetch_all("revocations_open", {})]
    yield 0


def _revocation(endpoint_id: Any, lock: str) -> Iterator[int]:
    def look(passed_over: list[str], limit: int = 1) -> list[Row]:
        params = {"endpoint": endpoint_id, "limit": limit, "passed_over": passed_over}
        return fetch_all(lock, params)

    def take(limit: int, passed_over: list[str]) -> list[Row]:
        ids = [todo_id for (todo_id,) in look(passed_over, limit)]
        rows = fetch_all("revocation_apply", {"ids": ids}) if ids else []
        announce("revoke endpoint", rows)
        return rows

    # A row may have come in behind a lock that a batch waited for: until none is left.
    while True:
        written = 0
        for count in in_batches(take, look):
            written += count
            yield count
        if execute("revocation_finish", {"endpoint": endpoint_id}) or not written:
            return
