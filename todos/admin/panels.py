"""The parts of a todo's page that are more than its fields: its wait and its ledger."""

from datetime import timedelta
from typing import Any, cast

from django.urls import reverse

from settings_app import reading
from settings_app.registry import INTERRUPT_LEASE_TTL
from settings_app.values import interpret
from todos import selectors
from todos.admin import attempts
from todos.admin.shown import document, isolated, relative, shortened, stamp, stamp_and_age
from todos.models import Attempt, Todo
from todos.selectors import Deadline

LEDGER_SHOWN = 50


def wait(todo: Todo) -> dict[str, Any]:
    """What is asked, since when, and when and under which setting it will be reclaimed."""
    setting = reading.report(INTERRUPT_LEASE_TTL.key)
    seconds = interpret(setting.tunable, setting.stored).number
    ttl = None if seconds is None else timedelta(seconds=seconds)
    deadline = selectors.deadline(todo.pk, ttl)
    asked, cut = document(todo.result)
    return {
        "state": todo.state,
        "asked": asked if todo.result is not None else "",
        "cut": cut,
        "since": stamp_and_age(todo.interrupted_at, cast(Any, todo).now),
        "reclaimed": _reclaimed(deadline, setting.words),
        "overdue": deadline is not None and deadline.overdue and deadline.endpoint_is_active,
        "setting": setting,
        "setting_url": reverse("admin:settings_app_setting_change", args=[setting.tunable.key]),
    }


def _reclaimed(deadline: Deadline | None, words: str) -> str:
    if deadline is None:
        return "not any more: it is gone"
    if not deadline.endpoint_is_active:
        return "at the next tick, as a dead letter: its endpoint is revoked or has expired"
    if deadline.at is None:
        return f"never: {words}"
    if deadline.overdue:
        lapsed = relative(deadline.at, deadline.now)
        return f"overdue: at the next tick (it lapsed at {stamp(deadline.at)}, {lapsed})"
    return f"{stamp(deadline.at)} ({relative(deadline.at, deadline.now)})"


def ledger(todo: Todo) -> list[dict[str, Any]]:
    """The latest attempts, newest first; older ones are in the list of attempts."""
    rows = Attempt.objects.filter(todo=todo).defer("lease_token_hash").order_by("-seq")
    return [
        {
            "attempt": row,
            "url": reverse("admin:todos_attempt_change", args=[row.pk]),
            "owner": isolated(row.owner),
            "claimant": isolated(row.claimant) if row.claimant else "",
            "claimed": stamp(row.claimed_at),
            "heard": stamp(row.last_heartbeat_at),
            "ended": stamp(row.ended_at),
            "words": attempts.in_words(row),
            "summary": isolated(shortened(row.summary)) if row.summary else "",
        }
        for row in rows[:LEDGER_SHOWN]
    ]
