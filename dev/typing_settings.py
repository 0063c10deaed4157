"""The settings for the type checker, which has no environment and connects to nothing."""

import os

os.environ |= {
    "SECRET_KEY": "for-the-type-checker-alone-" + "x" * 30,
    "DATABASE_URL": "postgresql:///nowhere",
    "REDIS_URL": "redis://localhost/0",
    "ALLOWED_HOSTS": "localhost",
}

from switchboard.settings import *  # noqa: F403
