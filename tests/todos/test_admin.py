"""Todos, attempts and endpoints in the admin: those who may look can look, and nothing else."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from todos import endpoints, transitions
from todos.models import Endpoint, Todo

pytestmark = pytest.mark.django_db

MODELS = ["todo", "endpoint", "attempt"]


@pytest.fixture
def todo() -> Todo:
    endpoint, _ = endpoints.vend(name="desk <b>", queues=["inbox"])
    todo, _ = transitions.create(endpoint, queue="inbox", title="<script>alert(1)</script>")
    transitions.claim(endpoint, todo.pk, owner="ada", fence=True)
    return transitions.interrupt(None, todo.pk, owner=None, state="auth-required", result={"a": 1})


def client_of(*, superuser: bool = False, permissions: tuple[str, ...] = ()) -> Client:
    user = User.objects.create_user("someone", is_staff=True, is_superuser=superuser)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def page_of(model: str, todo: Todo) -> str:
    keys = {
        "todo": todo.pk,
        "endpoint": todo.endpoint_id,
        "attempt": todo.attempts.get().pk,
    }
    return f"/admin/todos/{model}/{keys[model]}/change/"


@pytest.mark.parametrize("model", MODELS)
def test_view_staff_see_lists_searches_filters_and_pages(todo: Todo, model: str) -> None:
    client = client_of(permissions=(f"view_{model}",))
    listing = f"/admin/todos/{model}/"
    for url in (listing, f"{listing}?q={todo.pk}", f"{listing}?q=%00", page_of(model, todo)):
        response = client.get(url)
        assert response.status_code == 200, url
        assert "<script>alert" not in response.text
    assert client.get("/admin/todos/todo/?state__exact=pending").status_code in (200, 403)


@pytest.mark.parametrize("model", MODELS)
def test_not_even_a_superuser_can_add_change_or_delete(todo: Todo, model: str) -> None:
    client = client_of(superuser=True)
    page = page_of(model, todo)
    assert client.get(f"/admin/todos/{model}/add/").status_code == 403
    assert client.post(page, {"title": "changed"}).status_code == 403
    assert client.post(page.replace("change", "delete"), {"post": "yes"}).status_code == 403
    assert "delete_selected" not in client.get(f"/admin/todos/{model}/").text
    assert Todo.objects.get().title == todo.title


@pytest.mark.parametrize("model", MODELS)
def test_staff_without_the_permission_see_nothing(todo: Todo, model: str) -> None:
    client = client_of()
    assert client.get(f"/admin/todos/{model}/").status_code == 403
    assert client.get(page_of(model, todo)).status_code == 403


def test_secrets_are_not_shown(todo: Todo) -> None:
    client = client_of(superuser=True)
    assert "credential_hash" not in client.get(page_of("endpoint", todo)).text
    assert "lease_token_hash" not in client.get(page_of("attempt", todo)).text


def test_the_list_says_what_kind_of_failed_a_todo_is(todo: Todo) -> None:
    transitions.resume(None, todo.pk, owner=None)
    transitions.fail(None, todo.pk, owner=None)
    client = client_of(superuser=True)
    assert "failed, parked" in client.get("/admin/todos/todo/").text
    endpoints.revoke(Endpoint.objects.get())
    assert "failed, dead letter" in client.get("/admin/todos/todo/").text
