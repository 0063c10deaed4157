from collections.abc import Callable

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client

from settings_app import reading

StoreRow = Callable[[str, str], None]


@pytest.fixture
def store(db: None) -> StoreRow:
    """Writes a row as an operator does in psql: no code of ours looks at the value."""

    def write(key: str, value: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO settings (key, value) VALUES (%s, %s)"
                " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                [key, value],
            )

    return write


@pytest.fixture(autouse=True)
def nothing_warned_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_warned", set())


def _client(username: str, *permissions: str) -> Client:
    user = User.objects.create_user(username, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def operator(db: None) -> Client:
    return _client("operator", "view_setting", "change_setting")


@pytest.fixture
def colleague(db: None) -> Client:
    return _client("colleague", "view_setting", "change_setting")


@pytest.fixture
def viewer(db: None) -> Client:
    return _client("viewer", "view_setting")


@pytest.fixture
def stranger(db: None) -> Client:
    return _client("stranger")
