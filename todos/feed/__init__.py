"""Hints of every process, in every web process (docs/architecture.md: The feed).

`publisher` gathers the hooks of its process and sends them, one message a tick; `subscriber` hears
the messages of all processes and hands them to whoever listens in this one:

    async with feed.listen(endpoint.pk) as batches:
        async for batch in batches:
            ...  # batch.resync: something was missed, so read the truth again

A hint costs latency if it is lost, never work: the rows are the truth.
"""

from todos.feed.message import Hint
from todos.feed.subscriber import Batch, Listener, listen

__all__ = ["Batch", "Hint", "Listener", "listen"]
