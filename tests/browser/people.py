"""The three people of the permission tests, with a session of their own."""

from typing import Any

from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.test import Client

from tests.todos.admin.conftest import ACTIONS, VIEW

PASSWORD = "correct horse battery staple"
SETTINGS = ("view_setting", "change_setting")


def make_person(username: str, *permissions: str) -> User:
    user = User.objects.create_user(username, password=PASSWORD, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


def make_operator() -> User:
    """May do everything with todos and endpoints, and change settings."""
    allowed = [f"{name}_{model}" for model, names in ACTIONS.items() for name in names]
    return make_person("operator", *VIEW, *SETTINGS, *allowed)


def make_viewer() -> User:
    """May look at everything, and change nothing."""
    return make_person("viewer", *VIEW, "view_setting")


def make_stranger() -> User:
    """May log in to the admin, and see nothing there."""
    return make_person("stranger")


def cookie_of(user: Any) -> dict[str, str]:
    """The cookie of a new session of theirs."""
    client = Client()
    client.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    return {"name": name, "value": client.cookies[name].value}
