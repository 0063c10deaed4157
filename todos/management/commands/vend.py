from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.utils.dateparse import parse_datetime

from todos import endpoints, lease, selectors, trial
from todos.errors import InvalidInput
from todos.verbs import DRAIN, Verb

DRAIN_ALL = "drain"


class Command(BaseCommand):
    help = "Vend an endpoint; prints its credential, this once, and how to try it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="what people call it")
        parser.add_argument(
            "--queue", action="append", default=[], help="a queue that it grants; may be repeated"
        )
        parser.add_argument(
            "--verb",
            action="append",
            help=f"a verb that it grants, of {', '.join(Verb)}; `{DRAIN_ALL}` stands for "
            f"{', '.join(DRAIN)}; may be repeated (default: {DRAIN_ALL})",
        )
        parser.add_argument("--owner", help="the username of the person who answers for it")
        parser.add_argument(
            "--default-lease",
            metavar="SECONDS",
            help=f"of its claims, {lease.MIN_DEFAULT} to {lease.MAX_TTL}"
            f" (default: {lease.SERVER_DEFAULT})",
        )
        parser.add_argument(
            "--expires",
            metavar="TIME",
            help="when it ends by itself, such as 2027-01-31T12:00Z (default: never)",
        )
        parser.add_argument(
            "--url",
            default="http://127.0.0.1:8000/",
            help="where the web process is, for the line to try it with (default: %(default)s)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            endpoint, credential = endpoints.vend(
                name=options["name"],
                queues=options["queue"],
                verbs=_verbs(options["verb"]),
                owner=_owner(options["owner"]),
                default_lease_ttl_seconds=_seconds(options["default_lease"]),
                expires_at=_moment(options["expires"]),
            )
        except InvalidInput as error:
            option = _OPTIONS.get(error.field, error.field)
            raise CommandError(f"{option} {error.problem}. Nothing was vended.") from None
        self.stdout.write(
            f"endpoint    {endpoint.pk}\n"
            f"queues      {', '.join(endpoint.queues)}\n"
            f"verbs       {', '.join(endpoint.verbs)}\n"
            f"credential  {credential}\n"
            "It is shown this once, and stored only as a hash. To try it:\n\n"
            f"{trial.curl(options['url'], credential)}"
        )


_OPTIONS = {
    "queue": "--queue",
    "queues": "--queue",
    "verbs": "--verb",
    "owner": "--owner",
    "default_lease_ttl_seconds": "--default-lease",
    "expires_at": "--expires",
}
"""The option that a field of `endpoints.vend` comes from."""


def _verbs(given: list[str] | None) -> list[str] | None:
    if given is None:
        return None
    return [verb for word in given for verb in (DRAIN if word == DRAIN_ALL else [word])]


def _owner(username: str | None) -> Any:
    if username is None:
        return None
    users = get_user_model()
    owner = users._default_manager.filter(**{users.USERNAME_FIELD: username}).first()
    if owner is None:
        raise InvalidInput("owner", f"must be a username; nobody is called {username!r:.80}")
    return owner


def _seconds(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise InvalidInput("default_lease_ttl_seconds", "must be a whole number of seconds")
    return int(text)


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = parse_datetime(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise InvalidInput("expires_at", "must be a time with its zone, such as 2027-01-31T12:00Z")
    if moment <= selectors.now():
        raise InvalidInput("expires_at", "must be in the future")
    return moment
