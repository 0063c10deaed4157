"""Vending, with a credential that is shown once, and revoking."""

import hashlib
import logging
import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client

from tests.factories import endings, make_claimed, make_done, make_endpoint, make_pending
from tests.settings_app.pages import text
from tests.todos.admin.conftest import client_of
from tests.todos.admin.pages import HOSTILE, choose, confirm, list_of, page_of, press, told
from todos import endpoints, selectors
from todos.models import Endpoint, Todo
from todos.states import DEAD, State
from todos.verbs import DRAIN

pytestmark = pytest.mark.django_db

ADD = "/admin/todos/endpoint/add/"


def opened(client: Client) -> dict[str, Any]:
    """Opens the form; its fields as a browser would send them back, filled in."""
    response = client.get(ADD)
    assert response.status_code == 200
    assert response["Cache-Control"].startswith("no-store")
    form = response.context["form"]
    fields = {name: form[name].value() or "" for name in form.fields}
    return {**fields, "name": "mail desk", "queues": "inbox\r\n  reviews \r\n\r\ninbox"}


def credential_in(response: Any) -> str | None:
    found = re.search(r"sbk_[\w-]{43,}", response.text)
    return found and found[0]


def test_an_operator_vends_an_endpoint(operator: Client) -> None:
    soon = selectors.now() + timedelta(days=3)
    fields = opened(operator) | {
        "default_lease_ttl_seconds": "3600",
        "expires_at": soon.strftime("%Y-%m-%dT%H:%M"),
    }
    response = operator.post(ADD, fields)
    credential = credential_in(response)
    assert credential
    endpoint = Endpoint.objects.get()
    assert (endpoint.name, endpoint.queues) == ("mail desk", ["inbox", "reviews"])
    assert endpoint.owner == User.objects.get(username="operator")
    assert endpoint.default_lease_ttl_seconds == 3_600
    assert endpoint.expires_at == soon.replace(second=0, microsecond=0)
    assert bytes(endpoint.credential_hash) == hashlib.sha256(credential.encode()).digest()
    entry = LogEntry.objects.get()
    assert (entry.user.username, entry.change_message) == ("operator", "Vended.")
    assert str(endpoint.pk) in response.text


def test_beside_the_credential_is_a_line_to_try_it_with(operator: Client) -> None:
    response = operator.post(ADD, opened(operator))
    credential = credential_in(response)
    line = f"curl -sS http://testserver/api/v1/whoami -H 'Authorization: Bearer {credential}'"
    assert line in unescape(response.text)


def test_the_verbs_are_those_that_are_checked(operator: Client) -> None:
    assert opened(operator)["verbs"] == list(DRAIN)
    operator.post(ADD, opened(operator) | {"verbs": ["retry", "get"]})
    endpoint = Endpoint.objects.get()
    assert endpoint.verbs == ["get", "retry"]
    assert "get, retry" in text(operator.get(page_of(endpoint)))


def test_lease_and_expiry_may_be_none(operator: Client) -> None:
    operator.post(ADD, opened(operator))
    endpoint = Endpoint.objects.get()
    assert endpoint.default_lease_ttl_seconds is None
    assert endpoint.expires_at is None


def test_the_credential_is_shown_once_and_kept_nowhere(
    operator: Client, caplog: pytest.LogCaptureFixture
) -> None:
    fields = opened(operator)
    with caplog.at_level(logging.DEBUG):
        response = operator.post(ADD, fields)
    credential = credential_in(response)
    assert credential
    assert response.status_code == 200
    assert response["Cache-Control"].startswith("no-store")
    # By itself, and in the line to try it with.
    assert response.text.count(credential) == 2
    secret = credential[12:]
    assert secret not in str(response.request)
    assert secret not in "".join(morsel.output() for morsel in operator.cookies.values())
    assert secret not in str([session.get_decoded() for session in Session.objects.all()])
    # Statements are logged at DEBUG with what they carry: not even there.
    assert secret not in caplog.text
    assert secret not in str(LogEntry.objects.values())
    assert secret not in str(Endpoint.objects.values())
    endpoint = Endpoint.objects.get()
    for url in (ADD, list_of("endpoint"), page_of(endpoint), "/admin/"):
        assert secret not in operator.get(url).text


def test_the_form_sent_again_vends_nothing_and_shows_nothing(operator: Client) -> None:
    fields = opened(operator)
    assert credential_in(operator.post(ADD, fields))
    response = operator.post(ADD, fields | {"name": "another"})
    assert response.status_code == 409
    assert credential_in(response) is None
    assert "this form was sent before" in text(response)
    assert response["Cache-Control"].startswith("no-store")
    assert Endpoint.objects.get().name == "mail desk"
    assert LogEntry.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("name", "", "This field is required"),
        ("name", "a\tb", "Must not contain control characters"),
        ("name", "x" * 201, "at most 200 characters"),
        ("owner", "nobody", "There is no user of that name"),
        ("queues", "", "This field is required"),
        ("queues", " \n ", "This field is required"),
        ("queues", "inbox\n__other__", "is reserved for metrics"),
        ("verbs", [], "This field is required"),
        ("verbs", ["get", "sing"], "sing is not one of the available choices"),
        ("queues", "x" * 201, "Must have at most 200 characters"),
        ("default_lease_ttl_seconds", "59", "greater than or equal to 60"),
        ("default_lease_ttl_seconds", "86401", "less than or equal to 86400"),
        ("default_lease_ttl_seconds", "1.5", "Enter a whole number"),
        ("expires_at", "2001-01-01T00:00", "Must be in the future"),
        ("expires_at", "soon", "Enter a valid date/time"),
    ],
)
def test_a_refusal_is_shown_at_its_field(
    field: str, value: str | list[str], problem: str, operator: Client
) -> None:
    response = operator.post(ADD, opened(operator) | {field: value})
    assert problem in str(response.context["form"].errors[field])
    assert problem in text(response)
    assert not Endpoint.objects.exists()
    assert not LogEntry.objects.exists()


def test_the_bounds_of_a_lease_are_allowed(operator: Client) -> None:
    for seconds in (60, 86_400):
        operator.post(ADD, opened(operator) | {"default_lease_ttl_seconds": str(seconds)})
    leases = Endpoint.objects.values_list("default_lease_ttl_seconds", flat=True)
    assert set(leases) == {60, 86_400}


def test_hostile_names_are_inert(operator: Client) -> None:
    response = operator.post(ADD, opened(operator) | {"name": HOSTILE, "queues": HOSTILE})
    assert credential_in(response)
    assert "<script>alert" not in response.text


def test_vending_needs_its_permission() -> None:
    viewer = client_of("viewer", "view_endpoint", "revoke_endpoint")
    assert viewer.get(ADD).status_code == 403
    assert viewer.post(ADD, {"name": "x"}).status_code == 403
    assert ADD not in viewer.get(list_of("endpoint")).text
    someone = client_of("someone", "vend_endpoint")
    fields = opened(someone)
    endpoint = make_endpoint()
    assert confirm(someone, "endpoint", "revoke", endpoint.pk).status_code == 403
    assert credential_in(someone.post(ADD, fields))
    assert Endpoint.objects.filter(revoked_at=None).count() == 2


def test_revoking_says_before_how_many_todos_it_ends(operator: Client) -> None:
    desk = make_endpoint()
    held, pending, done = (make(endpoint=desk) for make in (make_claimed, make_pending, make_done))
    for response in (
        press(operator, "endpoint", "revoke", desk.pk),
        choose(operator, "endpoint", "revoke", desk.pk),
    ):
        assert "2 live todos become dead letters" in text(response)
        assert Endpoint.objects.get().revoked_at is None
    response = confirm(operator, "endpoint", "revoke", desk.pk)
    assert told(response) == ["Revoked 1 endpoint."]
    conditions = {todo.pk: todo.condition for todo in Todo.objects.all()}
    assert conditions == {held.pk: DEAD, pending.pk: DEAD, done.pk: State.DONE}
    assert endings(held) == [("revoked", "dead_lettered", "claimed")]
    entry = LogEntry.objects.get()
    assert (entry.user.username, entry.object_id, entry.change_message) == (
        "operator",
        str(desk.pk),
        "Revoked.",
    )


def test_live_todos_are_counted_no_further_than_a_bound(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_endpoint()
    for _ in range(3):
        make_pending(endpoint=desk)
    monkeypatch.setattr(selectors, "COUNTED", 2)
    assert "more than 2 live todos" in text(operator.get(page_of(desk)))


def test_what_cannot_be_revoked_is_refused_and_the_rest_is_done(operator: Client) -> None:
    gone, fits = make_endpoint(), make_endpoint()
    endpoints.revoke(gone)
    unknown = "00000000-0000-4000-8000-000000000000"
    done, refused = told(confirm(operator, "endpoint", "revoke", gone.pk, unknown, "x", fits.pk))
    assert done == "Revoked 1 endpoint."
    assert refused.startswith("Refused 3 endpoints: ")
    assert f"{gone.pk}: the endpoint is revoked already" in refused
    assert f"{unknown}: endpoint not found" in refused
    fits.refresh_from_db()
    assert fits.revocation_finished_at
    assert LogEntry.objects.count() == 1


def test_a_viewer_cannot_revoke(viewer: Client) -> None:
    desk = make_endpoint()
    assert confirm(viewer, "endpoint", "revoke", desk.pk).status_code == 403
    choose(viewer, "endpoint", "revoke", desk.pk)
    assert "/do/" not in viewer.get(page_of(desk)).text
    desk.refresh_from_db()
    assert desk.revoked_at is None


def test_a_revoked_endpoint_offers_nothing(operator: Client) -> None:
    desk = make_endpoint()
    assert "/do/revoke/" in operator.get(page_of(desk)).text
    endpoints.revoke(desk)
    assert "/do/" not in operator.get(page_of(desk)).text
