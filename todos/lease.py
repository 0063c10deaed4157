"""Bounds of a lease, in seconds (the domain: Leases).

Which lease counts is decided in SQL, in `sql/fragments/lease.sql`: the call's, else the
endpoint's, else the server's.
"""

from settings_app.registry import MAX_LEASE_SECONDS, MIN_LEASE_SECONDS
from todos.inputs import whole_number

MAX_TTL = MAX_LEASE_SECONDS
"""The longest lease; also the default of the interrupt TTL, by reference (ADR-0046)."""

MIN_DEFAULT = MIN_LEASE_SECONDS
"""The shortest default that an endpoint may have; also the floor of the interrupt TTL."""

SERVER_DEFAULT = 300


def requested(seconds: object) -> int | None:
    """The lease that a call asks for, cut to `MAX_TTL`; None: it leaves the choice to others."""
    if seconds is None:
        return None
    return min(whole_number("lease_ttl_seconds", seconds, at_least=1), MAX_TTL)


def endpoint_default(seconds: object) -> int | None:
    """An endpoint's own default: refused outside its bounds, never clamped."""
    if seconds is None:
        return None
    return whole_number("default_lease_ttl_seconds", seconds, at_least=MIN_DEFAULT, at_most=MAX_TTL)
