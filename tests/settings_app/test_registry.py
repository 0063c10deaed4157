import pytest

from settings_app import registry
from settings_app.registry import TUNABLES, Tunable, Unit

# Copied from the table in the domain, "Settings": key → default.
DEFAULTS = {
    "interrupt_lease_ttl_seconds": 86_400,
    "sse_retry_ms": 3_000,
    "attempt_history_max_per_todo": 50,
    "retention_max_age_days": 30,
    "retention_max_rows": 500_000,
    "dead_letter_max_age_days": 365,
    "create_rate_per_minute": 600,
}


def test_the_keys_and_their_defaults() -> None:
    assert {key: tunable.default for key, tunable in TUNABLES.items()} == DEFAULTS


@pytest.mark.parametrize("tunable", TUNABLES.values(), ids=TUNABLES)
def test_a_default_is_within_its_own_bounds(tunable: Tunable) -> None:
    assert tunable.floor <= tunable.default <= tunable.ceiling
    assert tunable.help


def test_the_ttl_shares_its_numbers_with_the_lease() -> None:
    ttl = registry.INTERRUPT_LEASE_TTL
    assert ttl.default is registry.MAX_LEASE_SECONDS
    assert ttl.floor is registry.MIN_LEASE_SECONDS
    assert ttl.ceiling == 3_155_760_000
    assert ttl.unit is Unit.SECONDS


def test_the_retry_hint_always_has_a_number() -> None:
    assert not registry.SSE_RETRY.off
    assert not registry.SSE_RETRY.beyond
