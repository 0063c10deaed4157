"""What a person does with the pages of todos, in a browserless client."""

from typing import Any

from django.db.models import Model
from django.test import Client
from django.urls import reverse

LISTS = ["todo", "endpoint", "attempt"]
HOSTILE = "<script>alert(1)</script>{{ 7|add:7 }}&\"'\u202eabc"


def list_of(model: str) -> str:
    return reverse(f"admin:todos_{model}_changelist")


def page_of(row: Model) -> str:
    return reverse(f"admin:todos_{row._meta.model_name}_change", args=[row.pk])


def listed(client: Client, query: str, model: str = "todo") -> list[Any]:
    """The keys of the rows on the first page of a list, in its order."""
    response = client.get(f"{list_of(model)}?{query}")
    assert response.status_code == 200, query
    return [row.pk for row in response.context["cl"].result_list]


def press(client: Client, model: str, name: str, *keys: object, **fields: Any) -> Any:
    """The button of a row's page, or the answer to a confirmation; follows to the next page."""
    url = reverse(f"admin:todos_{model}_do", args=[name])
    return client.post(url, {"id": list(map(str, keys)), **fields}, follow=True)


def confirm(client: Client, model: str, name: str, *keys: object, **fields: Any) -> Any:
    return press(client, model, name, *keys, confirmed="yes", **fields)


def choose(client: Client, model: str, name: str, *keys: object, query: str = "") -> Any:
    """An action of the list, on the rows that are ticked."""
    fields = {"action": name, "_selected_action": list(map(str, keys)), "index": "0"}
    return client.post(f"{list_of(model)}{query}", fields, follow=True)


def told(response: Any) -> list[str]:
    """What the page reports."""
    return [str(message) for message in response.context["messages"]]
