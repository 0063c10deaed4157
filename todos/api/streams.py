"""How many streams an endpoint has open, in all web processes together.

Redis counts them, with an expiry, so that a killed process gives its streams back. While Redis is
away each process counts its own alone.
"""

import asyncio
import contextlib
import uuid
from collections import Counter
from weakref import WeakKeyDictionary

import redis.asyncio
from django.conf import settings
from redis.asyncio import BlockingConnectionPool

from todos.api.problems import RateLimited

MAX_STREAMS = 20
KEPT_SECONDS = 45
"""How long a slot counts that is not kept: three comments of a stream."""

TIMEOUT_SECONDS = 1.0

TAKE = """
local now = tonumber(redis.call('TIME')[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if not redis.call('ZSCORE', KEYS[1], ARGV[1])
   and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then
    return 0
end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[3]), ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[3])
return 1
"""

_here: Counter[str] = Counter()


class Slot:
    """One open stream of an endpoint, given back at the end of its block."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._key = f"switchboard:streams:{endpoint}"
        self._id = uuid.uuid4().hex

    async def keep(self) -> bool:
        """Count on; False: there are too many."""
        try:
            return bool(
                await _client().eval(TAKE, 1, self._key, self._id, MAX_STREAMS, KEPT_SECONDS)
            )
        except (redis.RedisError, OSError):
            return True

    async def __aenter__(self) -> None:
        _here[self._endpoint] += 1

    async def __aexit__(self, *_: object) -> None:
        _here[self._endpoint] -= 1
        if not _here[self._endpoint]:
            del _here[self._endpoint]
        with contextlib.suppress(redis.RedisError, OSError):
            await _client().zrem(self._key, self._id)


async def take(endpoint: str) -> Slot:
    """A slot for one more stream of an endpoint. Raises RateLimited."""
    slot = Slot(endpoint)
    if _here[endpoint] >= MAX_STREAMS or not await slot.keep():
        raise RateLimited(
            f"the endpoint has {MAX_STREAMS} streams open, and may have no more", retry_after=5
        )
    return slot


_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, redis.asyncio.Redis] = WeakKeyDictionary()


def _client() -> redis.asyncio.Redis:
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        pool = BlockingConnectionPool.from_url(
            settings.REDIS_URL,
            max_connections=2,
            timeout=TIMEOUT_SECONDS,
            socket_timeout=TIMEOUT_SECONDS,
            socket_connect_timeout=TIMEOUT_SECONDS,
        )
        _clients[loop] = redis.asyncio.Redis(connection_pool=pool)
    return _clients[loop]
