"""The Celery application and the whole beat schedule."""

import os
import ssl
from datetime import timedelta
from typing import Any

from celery import Celery, signals
from celery.schedules import crontab
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from switchboard import env

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "switchboard.settings")

TICK = "todos.tasks.tick"
TICK_EVERY = timedelta(seconds=30)
PRUNE = "todos.tasks.prune"
# By the clock and not by an interval: a beat that restarts more than hourly would never come to it.
PRUNE_EVERY = crontab(minute=17)

app = Celery("switchboard")


def configuration() -> dict[str, Any]:
    """Evaluated when Celery first needs it, so that an import alone needs no environment."""
    try:
        redis_url = settings.REDIS_URL
    except ImproperlyConfigured as error:
        # `celery worker` would show a traceback around the one line that matters.
        raise SystemExit(str(error)) from None
    return {
        "broker_url": env.broker_url(redis_url),
        # Kombu accepts any certificate unless it is told otherwise.
        "broker_use_ssl": {"ssl_cert_reqs": ssl.CERT_REQUIRED}
        if redis_url.startswith("rediss:") and "ssl_cert_reqs" not in redis_url
        else None,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_transport_options": {
            # Without it a publish on a connection that vanished silently would wait for ever.
            "socket_timeout": 30,
            "socket_connect_timeout": 10,
            "socket_keepalive": True,
            "health_check_interval": 25,
        },
        # Nobody waits for an answer, and what a task did is in the database.
        "task_ignore_result": True,
        "result_backend": None,
        "task_serializer": "json",
        "accept_content": ["json"],
        "task_default_queue": "switchboard",
        # One message in hand per process, so that a stuck worker keeps none from its neighbours.
        "worker_prefetch_multiplier": 1,
        # Far beyond any honest tick: a hung one must not hold its process until a restart.
        "task_time_limit": 300,
        "timezone": "UTC",
        # Nothing in the schedule is worth a state file, which a read-only container could not write
        # and a crash could corrupt: one entry is short, the other goes by the clock.
        "beat_scheduler": "celery.beat:Scheduler",
        "beat_schedule": {
            # Without `expires`, which compares two hosts' clocks: a worker whose clock is ahead
            # would drop every tick. A backlog costs nothing, for the tick knows whether it is due.
            "tick": {"task": TICK, "schedule": TICK_EVERY},
            "prune": {"task": PRUNE, "schedule": PRUNE_EVERY},
        },
    }


app.add_defaults(configuration)


@signals.setup_logging.connect
def keep_django_logging(**_: object) -> None:
    """A receiver here is how Celery is told to leave the loggers as the settings made them."""


@signals.worker_process_shutdown.connect
def send_the_last_hints(**_: object) -> None:
    """A process of the pool ends without Python's own farewell."""
    from todos.feed.publisher import publisher

    publisher.flush()


app.autodiscover_tasks()
