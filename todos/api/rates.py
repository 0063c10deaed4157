"""How often an endpoint may create: a token bucket in Redis, shared by all web processes."""

import logging
import time
from functools import cache

import redis
from django.conf import settings
from redis.commands.core import Script

from settings_app import reading
from todos.api.problems import RateLimited
from todos.models import Endpoint

logger = logging.getLogger(__name__)

TIMEOUT_SECONDS = 0.25
AWAY_SECONDS = 5.0
"""How long Redis is left alone after it failed, so that it slows no other create down."""

# A bucket holds a minute's tokens and fills evenly, by the clock of Redis.
_TAKE = """
local rate = tonumber(ARGV[1])
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1000000
local kept = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = math.min(rate, (tonumber(kept[1]) or rate)
    + math.max(0, now - (tonumber(kept[2]) or now)) * rate / 60)
local wait = 0
if tokens >= 1 then tokens = tokens - 1 else wait = math.ceil((1 - tokens) * 60 / rate) end
redis.call('HSET', KEYS[1], 'tokens', string.format('%.9f', tokens),
    'at', string.format('%.6f', now))
redis.call('EXPIRE', KEYS[1], 61)
return wait
"""


class Bucket:
    """Takes tokens; while Redis is away every create passes, which is logged once."""

    def __init__(self) -> None:
        self._away_until = 0.0
        self._told = False

    def take(self, endpoint: Endpoint) -> None:
        """Raises RateLimited when the endpoint has created too much within a minute."""
        rate = reading.create_rate_per_minute()
        if rate is None or time.monotonic() < self._away_until:
            return
        try:
            wait = int(_script()(keys=[f"switchboard:create:{endpoint.pk}"], args=[rate]))
        except redis.RedisError as error:
            self._away_until = time.monotonic() + AWAY_SECONDS
            if not self._told:
                self._told = True
                logger.warning("creates are not limited, Redis is away: %s", error)
            return
        if self._told:
            self._told = False
            logger.info("creates are limited again")
        if wait:
            raise RateLimited(
                f"the endpoint may create {rate} todos a minute; try again in {wait} s", wait
            )


bucket = Bucket()


@cache
def _script() -> Script:
    client = redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=TIMEOUT_SECONDS,
        socket_connect_timeout=TIMEOUT_SECONDS,
    )
    return client.register_script(_TAKE)
