from datetime import timedelta

import pytest
from celery.schedules import crontab
from django.test import override_settings

from switchboard.celery import app, configuration


def test_the_schedule_is_the_tick_every_thirty_seconds_and_retention_every_hour() -> None:
    entries = app.conf.beat_schedule.values()
    assert {entry["task"]: entry["schedule"] for entry in entries} == {
        "todos.tasks.tick": timedelta(seconds=30),
        "todos.tasks.prune": crontab(minute=17),
    }


def test_the_scheduled_tasks_exist() -> None:
    app.loader.import_default_modules()
    assert {entry["task"] for entry in app.conf.beat_schedule.values()} <= set(app.tasks)


def test_no_clock_but_the_databases_decides_whether_a_tick_is_too_old() -> None:
    for entry in app.conf.beat_schedule.values():
        assert "expires" not in entry.get("options", {})


def test_nothing_but_json_is_accepted_and_no_result_is_kept() -> None:
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_serializer == "json"
    assert app.conf.task_ignore_result is True
    assert app.conf.result_backend is None


def test_a_lost_broker_is_looked_for_as_long_as_it_takes() -> None:
    assert app.conf.broker_connection_retry_on_startup is True
    assert app.conf.broker_connection_max_retries is None


@pytest.mark.parametrize(
    ("url", "verified"),
    [
        ("rediss://h:6380/0", True),
        ("rediss://h:6380/0?ssl_cert_reqs=none", False),
        ("redis://h:6379/0", False),
    ],
)
def test_a_tls_broker_must_prove_who_it_is(url: str, verified: bool) -> None:
    with override_settings(REDIS_URL=url):
        assert (configuration()["broker_use_ssl"] is not None) is verified
