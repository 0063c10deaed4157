import psycopg
import pytest
from django.db import connection, connections
from django.db.backends.postgresql.base import DatabaseWrapper

from switchboard import database

PARTS = {"dbname": "d", "user": "u", "host": "h", "port": "5433"}


def test_the_connection_string_wins_over_the_defaults() -> None:
    parts = PARTS | {"application_name": "mine", "connect_timeout": "3", "sslmode": "require"}
    options = database.settings(parts, pooler="", pool_size=0)["OPTIONS"]
    assert options["application_name"] == "mine"
    assert options["connect_timeout"] == "3"
    assert options["sslmode"] == "require"


def test_startup_options_of_the_connection_string_are_kept() -> None:
    parts = PARTS | {"options": "-c search_path=queue"}
    options = database.settings(parts, pooler="", pool_size=0)["OPTIONS"]
    assert options["options"] == "-c jit=off -c search_path=queue"


def test_a_transaction_pooler_gets_nothing_that_outlives_a_transaction() -> None:
    settings = database.settings(PARTS, pooler="transaction", pool_size=0)
    assert settings["OPTIONS"]["prepare_threshold"] is None
    assert "options" not in settings["OPTIONS"]
    assert settings["DISABLE_SERVER_SIDE_CURSORS"] is True
    # Parameters still travel apart from the statement: that needs no session.
    assert settings["OPTIONS"]["server_side_binding"] is True


def test_without_a_pooler_all_of_it_is_on() -> None:
    settings = database.settings(PARTS, pooler="", pool_size=0)
    assert settings["OPTIONS"]["prepare_threshold"] == database.PREPARE_THRESHOLD
    assert "DISABLE_SERVER_SIDE_CURSORS" not in settings


def test_a_pool_is_bounded_and_takes_no_kept_connections() -> None:
    settings = database.settings(PARTS, pooler="", pool_size=7)
    assert settings["OPTIONS"]["pool"]["max_size"] == 7
    assert settings["CONN_MAX_AGE"] == 0
    assert "pool" not in database.settings(PARTS, pooler="", pool_size=0)["OPTIONS"]


@pytest.mark.django_db
def test_the_connection_has_the_production_options() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('jit'), current_setting('application_name')")
        assert cursor.fetchone() == ("off", "switchboard")
    assert isinstance(connection.connection, psycopg.Connection)
    assert connection.connection.prepare_threshold == database.PREPARE_THRESHOLD


@pytest.mark.django_db(transaction=True)
def test_a_pool_heals_when_its_connections_were_cut() -> None:
    settings = connections["default"].settings_dict
    options = settings["OPTIONS"] | {"pool": {"min_size": 1, "max_size": 2, "timeout": 10}}
    pooled = DatabaseWrapper(settings | {"OPTIONS": options, "CONN_MAX_AGE": 0}, "pooled")
    try:
        first = backend(pooled)
        pooled.close()
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", [first])
        assert backend(pooled) != first
    finally:
        pooled.close()
        pooled.close_pool()


def backend(wrapper: DatabaseWrapper) -> int:
    with wrapper.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])
