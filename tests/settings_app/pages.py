"""What a person does with the *Settings* page, in a browserless client."""

import html
import re
from typing import Any

from django.test import Client
from django.urls import reverse

from settings_app.models import Setting

LIST = reverse("admin:settings_app_setting_changelist")
TTL = "interrupt_lease_ttl_seconds"


def change_url(key: str = TTL) -> str:
    return reverse("admin:settings_app_setting_change", args=[key])


def history_url(key: str = TTL) -> str:
    return reverse("admin:settings_app_setting_history", args=[key])


def text(response: Any) -> str:
    """The page as it is read: without markup, runs of space made one."""
    page = re.sub(r"(?s)<(script|style)\b.*?</\1>", " ", response.content.decode())
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def opened(client: Client, key: str = TTL) -> dict[str, str]:
    """Opens a setting's page; the fields of its form, as a browser would send them back."""
    response = client.get(change_url(key))
    assert response.status_code == 200
    form = response.context["adminform"].form
    return {name: form[name].value() for name in form.fields}


def save(client: Client, value: str, key: str = TTL, **fields: str) -> Any:
    """Opens the page, types the value and saves; follows to the page that then appears."""
    return client.post(
        change_url(key), {**opened(client, key), "value": value, **fields}, follow=True
    )


def stored(key: str = TTL) -> str | None:
    return Setting.objects.filter(pk=key).values_list("value", flat=True).first()
