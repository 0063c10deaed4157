"""Gives every pytest run its own PostgreSQL and Valkey, unless the environment names others.

A plugin and not a fixture: the settings are read before any fixture exists.
"""

import os
from collections.abc import Generator

import pytest

from dev.services import Services


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    # The same settings in every shell: only the two servers' addresses are taken from outside.
    for name in (
        "DEBUG",
        "BEHIND_TLS_PROXY",
        "DATABASE_POOLER",
        "DATABASE_POOL_SIZE",
        "LOG_LEVEL",
        "LOG_FORMAT",
    ):
        os.environ.pop(name, None)
    os.environ["SECRET_KEY"] = "tests-only-" + "x" * 50
    os.environ["ALLOWED_HOSTS"] = "localhost"
    services = Services()
    # Registered before the start: a Ctrl-C while it starts must not leave a server behind.
    early_config.add_cleanup(services.stop)
    services.start()
    os.environ["DATABASE_URL"] = services.database_url
    os.environ["REDIS_URL"] = services.redis_url
    yield
