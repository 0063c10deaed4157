"""How often an endpoint may create."""

import logging
from collections.abc import Iterator

import pytest
import redis
from django.conf import settings

from settings_app.models import Setting
from tests.todos.api.conftest import Hire, Worker, trouble
from todos.api import rates
from todos.models import Todo


@pytest.fixture
def limited(hire: Hire) -> Worker:
    Setting.objects.create(key="create_rate_per_minute", value="2")
    return hire()


@pytest.fixture
def _redis_away(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    away = redis.Redis(host="127.0.0.1", port=1)
    script = away.register_script("return 0")
    monkeypatch.setattr(rates, "_script", lambda: script)
    monkeypatch.setattr(rates, "AWAY_SECONDS", 0.0)
    monkeypatch.setattr(rates.bucket, "_away_until", 0.0)
    monkeypatch.setattr(rates.bucket, "_told", False)
    yield
    away.close()


def create(worker: Worker) -> int:
    return worker.post("todos", queue="inbox", title="x").status_code


def test_a_minute_s_worth_may_come_at_once(limited: Worker, hire: Hire) -> None:
    assert [create(limited) for _ in range(3)] == [201, 201, 429]
    answer = limited.post("todos", queue="inbox", title="x")
    error = trouble(answer, 429)
    assert error["code"] == "rate_limited"
    assert 29 <= int(answer.headers["Retry-After"]) <= 30
    assert error["message"].startswith("the endpoint may create 2 todos a minute; try again in ")
    assert Todo.objects.count() == 2
    # Each endpoint has a bucket of its own, and nothing but create draws on it.
    assert create(hire()) == 201
    assert limited.post("todos/claim_next").status_code == 200


def test_the_bucket_fills_evenly(limited: Worker) -> None:
    assert [create(limited) for _ in range(3)] == [201, 201, 429]
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        key = f"switchboard:create:{limited.endpoint.pk}"
        at = float(client.hget(key, "at") or 0)
        client.hset(key, "at", at - 31)
        assert 0 < client.ttl(key) <= 61
    assert [create(limited) for _ in range(2)] == [201, 429]


def test_a_change_of_the_setting_counts_at_once(limited: Worker) -> None:
    assert [create(limited) for _ in range(3)] == [201, 201, 429]
    Setting.objects.update(value="0")
    assert create(limited) == 201


@pytest.mark.usefixtures("_redis_away")
def test_while_redis_is_away_all_may_create_and_one_line_says_so(
    limited: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "todos"):
        assert [create(limited) for _ in range(4)] == [201] * 4
    (line,) = [r.message for r in caplog.records if "Redis" in r.message]
    assert line.startswith("creates are not limited, Redis is away: ")


def test_what_is_refused_anyway_draws_no_token(limited: Worker) -> None:
    for _ in range(3):
        trouble(limited.post("todos", queue="secret", title="x"), 403)
        trouble(limited.post("todos", queue="inbox", title=""), 422)
    assert [create(limited) for _ in range(2)] == [201, 201]
