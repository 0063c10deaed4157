"""The application with a fast beat, for tests: nothing in production can change the interval."""

import os

from switchboard.celery import app

app.conf.beat_schedule["tick"]["schedule"] = float(os.environ["TESTS_BEAT_EVERY_SECONDS"])
