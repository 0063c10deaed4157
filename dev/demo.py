"""A demo operator and demo todos, for a database that has none.

States come from the public API alone; only how long ago something happened is set by SQL.
"""

import json
import os
import secrets
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

OPERATOR = "operator"


def ensure_operator(password_file: Path) -> str | None:
    """Create the operator if nobody can log in yet. Returns the password if this folder knows it.

    It is generated, since DATABASE_URL may name a database that others reach too.
    """
    from django.contrib.auth import get_user_model

    users = get_user_model()
    if not users.objects.filter(is_superuser=True).exists():
        password = secrets.token_urlsafe(12)
        password_file.touch(mode=0o600)
        password_file.write_text(password)
        users.objects.create_superuser(OPERATOR, password=password)
    known = password_file.read_text().strip() if password_file.exists() else ""
    operator = users.objects.filter(username=OPERATOR).first()
    return known if operator and known and operator.check_password(known) else None


def create_todos() -> None:
    from todos import endpoints, transitions
    from todos.states import State

    demo, _ = endpoints.vend(name="demo", queues=["inbox", "reviews"])
    owner = f"agent:{demo.pk}"
    hour = timedelta(hours=1)

    def new(title: str, *, queue: str = "inbox", max_attempts: int = 5) -> str:
        payload = {"demo": True}
        todo, _ = transitions.create(
            demo, queue=queue, title=title, payload=payload, max_attempts=max_attempts
        )
        return str(todo.id)

    def claimed(title: str, *, queue: str = "inbox", max_attempts: int = 5) -> str:
        todo_id = new(title, queue=queue, max_attempts=max_attempts)
        transitions.claim(
            demo, todo_id, owner=owner, lease_ttl_seconds=86_400, claimant="demo worker"
        )
        return todo_id

    def waiting(title: str, state: str, question: str, age: timedelta) -> None:
        todo_id = claimed(title, queue="reviews")
        asked = {"question": question}
        transitions.interrupt(demo, todo_id, owner=owner, state=state, result=asked)
        move_into_the_past(todo_id, age)

    new("Summarise the release notes")
    move_into_the_past(new("Translate the welcome page"), 2 * hour)
    move_into_the_past(new("Review the pricing table", queue="reviews"), 26 * hour)
    claimed("Index the new documents")
    transitions.complete(
        demo, claimed("Resize the product images"), owner=owner, result={"images": 42}
    )
    transitions.fail(
        demo, claimed("Fetch the exchange rates"), owner=owner, result={"error": "timeout"}
    )
    transitions.fail(
        demo,
        claimed("Call the retired service", max_attempts=1),
        owner=owner,
        result={"error": "410 Gone"},
    )
    transitions.cancel(demo, new("Draft the old newsletter"), result={"reason": "no longer needed"})
    transitions.reject(demo, new("Order lunch"), result={"reason": "not a task for this queue"})
    waiting(
        "Publish the changelog",
        State.INPUT_REQUIRED,
        "Shall the entry about the queue go first? (yes or no)",
        timedelta(minutes=10),
    )
    waiting(
        "Refund order 1007",
        State.INPUT_REQUIRED,
        "Refund in full or in part? (full, part)",
        5 * hour,
    )
    waiting(
        "Read the shared calendar",
        State.AUTH_REQUIRED,
        "Please authorise read access to the calendar.",
        2 * hour,
    )
    waiting(
        "Rename the repository",
        State.INPUT_REQUIRED,
        "Which name: switchboard or patchbay?",
        25 * hour,
    )


def move_into_the_past(todo_id: str, age: timedelta) -> None:
    """As if everything that happened to this todo had happened that much earlier."""
    from django.db import connection, transaction

    moved: dict[str, Any] = {"age": age, "id": todo_id}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE todos SET created_at = created_at - %(age)s, updated_at = updated_at - %(age)s,"
            " claimed_at = claimed_at - %(age)s, interrupted_at = interrupted_at - %(age)s,"
            " lease_expires_at = lease_expires_at - %(age)s WHERE id = %(id)s",
            moved,
        )
        cursor.execute(
            "UPDATE todo_attempts SET claimed_at = claimed_at - %(age)s,"
            " lease_expires_at = lease_expires_at - %(age)s WHERE todo_id = %(id)s",
            moved,
        )


def main(state_directory: Path) -> None:
    import django
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import call_command
    from django.db import OperationalError, connection, transaction

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "switchboard.settings")
    try:
        django.setup()
    except ImproperlyConfigured as error:
        sys.exit(str(error))
    try:
        connection.ensure_connection()
    except OperationalError as error:
        sys.exit(f"DATABASE_URL cannot be used: {' '.join(str(error).split())}")
    call_command("migrate", interactive=False, verbosity=0)
    password = ensure_operator(state_directory / "operator-password")
    from todos.models import Todo

    with transaction.atomic():
        # All or nothing: half a demo would look like a whole one to the next start.
        if not Todo.objects.exists():
            create_todos()
    print(json.dumps({"user": OPERATOR, "password": password}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
