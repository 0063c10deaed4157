"""`manage.py vend`."""

import hashlib
import re
import shlex
from datetime import UTC, datetime
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from tests.factories import make_user
from todos.models import Endpoint
from todos.verbs import DRAIN

pytestmark = pytest.mark.django_db


def vend(*arguments: str) -> str:
    out = StringIO()
    call_command("vend", *arguments, stdout=out)
    return out.getvalue()


def test_it_prints_a_credential_that_works_and_a_line_to_try_it() -> None:
    told = vend("mail desk", "--queue", "inbox", "--url", "https://queue.example.org")
    (credential,) = set(re.findall(r"sbk_[\w-]{43}", told))
    endpoint = Endpoint.objects.get()
    assert bytes(endpoint.credential_hash) == hashlib.sha256(credential.encode()).digest()
    assert (endpoint.name, endpoint.queues, endpoint.verbs) == ("mail desk", ["inbox"], list(DRAIN))
    assert shlex.split(told.splitlines()[-1]) == [
        "curl",
        "-sS",
        "https://queue.example.org/api/v1/whoami",
        "-H",
        f"Authorization: Bearer {credential}",
    ]


def test_it_takes_all_that_an_endpoint_may_have() -> None:
    ada = make_user(username="ada")
    vend(
        "desk",
        *("--queue", "a", "--queue", "b", "--verb", "drain", "--verb", "create"),
        *("--owner", "ada", "--default-lease", "900", "--expires", "2999-01-01T12:00Z"),
    )
    endpoint = Endpoint.objects.get()
    assert (endpoint.queues, endpoint.verbs) == (["a", "b"], [*DRAIN, "create"])
    assert (endpoint.owner, endpoint.default_lease_ttl_seconds) == (ada, 900)
    assert endpoint.expires_at == datetime(2999, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([""], "name must not be empty"),
        (["desk"], "--queue must name at least one queue"),
        (["desk", "--queue", "__other__"], "--queue '__other__' is reserved for metrics"),
        (["desk", "--queue", "a", "--verb", "drian"], "--verb must be of list, get, "),
        (["desk", "--queue", "a", "--owner", "eve"], "--owner must be a username; nobody is"),
        (["desk", "--queue", "a", "--default-lease", "59"], "--default-lease must be 60 to 86400"),
        (["desk", "--queue", "a", "--default-lease", "1h"], "--default-lease must be a whole"),
        (["desk", "--queue", "a", "--expires", "soon"], "--expires must be a time with its zone"),
        (["desk", "--queue", "a", "--expires", "2999-01-01"], "--expires must be a time with its"),
        (["desk", "--queue", "a", "--expires", "2999-13-01T00:00Z"], "--expires must be a time"),
        (["desk", "--queue", "a", "--expires", "2001-01-01T00:00Z"], "--expires must be in the"),
    ],
)
def test_what_is_wrong_names_its_option(arguments: list[str], problem: str) -> None:
    with pytest.raises(CommandError, match=re.escape(problem)):
        vend(*arguments)
    assert not Endpoint.objects.exists()
