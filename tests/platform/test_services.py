import redis
from django.conf import settings
from django.db import connection


def test_the_database_is_a_fresh_postgresql(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version_num')::int")
        (version,) = cursor.fetchone()
    assert version >= 150000


def test_the_broker_answers() -> None:
    client = redis.Redis.from_url(settings.REDIS_URL)
    assert client.ping()
    client.close()
