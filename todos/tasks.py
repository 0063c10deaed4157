"""Celery's way in."""

from celery import shared_task

from todos import reaper


@shared_task
def tick() -> None:
    """The reaper's tick; the beat schedule is in `switchboard/celery.py`."""
    reaper.tick_if_due()
