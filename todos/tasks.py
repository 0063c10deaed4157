"""Celery's way in. The beat schedule is in `switchboard/celery.py`."""

import logging

from celery import shared_task

from todos import reaper, retention

logger = logging.getLogger(__name__)

PRUNE_SECONDS = 240
"""Within the worker's time limit for a task; what is left goes in the next hour."""


@shared_task
def tick() -> None:
    """The reaper's tick."""
    reaper.tick_if_due()


@shared_task
def prune() -> None:
    """Retention, hourly."""
    result = retention.prune(seconds=PRUNE_SECONDS)
    if result.todos:
        pruned = {"todos": result.todos, "attempts": result.attempts}
        logger.info("pruned todos=%(todos)d attempts=%(attempts)d", pruned)
