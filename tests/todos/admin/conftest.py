"""Three people: the operator may do everything, the viewer may look, the stranger neither."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

VIEW = ("view_todo", "view_endpoint", "view_attempt")
ACTIONS = {
    "todo": ("resume", "reclaim", "release", "retry", "cancel"),
    "endpoint": ("vend", "revoke"),
}


def client_of(username: str, *permissions: str) -> Client:
    user = User.objects.create_user(username, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    assert user.user_permissions.count() == len(permissions)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def operator(db: None) -> Client:
    allowed = [f"{name}_{model}" for model, names in ACTIONS.items() for name in names]
    return client_of("operator", *VIEW, *allowed)


@pytest.fixture
def viewer(db: None) -> Client:
    return client_of("viewer", *VIEW)


@pytest.fixture
def stranger(db: None) -> Client:
    return client_of("stranger")
