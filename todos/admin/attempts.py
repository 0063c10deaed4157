"""The attempt ledger in the admin."""

from typing import Any, cast

from django.contrib import admin
from django.http import HttpRequest

from todos import selectors
from todos.admin.lists import BoundedAdmin, ChoiceFilter
from todos.admin.shown import isolated, stamp, stamp_and_age
from todos.models import Attempt
from todos.selectors import Found
from todos.states import INTERRUPT_STATES, Outcome

_ORDERS = {
    selectors.OPEN: "Those of the newest todos first.",
    Outcome.COMPLETED: f"Newest first, among the {selectors.LOOKED_THROUGH:,} newest attempts.",
}
_ENDINGS = {
    selectors.OPEN: "open",
    selectors.DIED_ATTEMPTS: "died: its holder never reported",
    Outcome.LEASE_EXPIRED: "died, taken over by a claim",
    Outcome.REAPED: "died, reaped by the tick",
}


def in_words(attempt: Attempt) -> str:
    """How an attempt ended, and where that left its todo."""
    if attempt.outcome is None:
        return "open: held now"
    went = f" → {(attempt.disposition or '').replace('_', ' ')}"
    if not attempt.died:
        return f"{attempt.outcome}{went}"
    if attempt.ended_from in INTERRUPT_STATES:
        cause = "its wait was reclaimed"
    elif attempt.outcome == Outcome.REAPED:
        cause = "its lease lapsed"
    else:
        cause = "its lease lapsed, another claim took over"
    return f"died: its holder never reported, {cause}{went}"


class EndingFilter(ChoiceFilter):
    title = "how it ended"
    parameter_name = "ending"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(name), _ENDINGS.get(name, str(name))) for name in selectors.ENDINGS]


@admin.register(Attempt)
class AttemptAdmin(BoundedAdmin):
    list_display = ("attempt_of", "holder", "claimed", "ended", "how_it_ended")
    list_filter = (EndingFilter,)
    search_help_text = "Searches for a todo's id, or its beginning."
    unlisted = ("summary", "artifact", "lease_token_hash")
    fields = (
        "todo",
        "seq",
        "attempt",
        "how_it_ended",
        "holder",
        "claimer_kind",
        "claimer_endpoint",
        "claimed",
        "last_heartbeat_at",
        "lease_expires_at",
        "ended",
        "ended_from",
        "waited_since",
        "outcome",
        "disposition",
        "summary_shown",
        "artifact_shown",
        "fenced",
    )

    def find(self, *, search: str, **chosen: str | None) -> tuple[Found, str]:
        ending = chosen.get("ending")
        if search:
            order = "The newest todo first, and its latest attempt."
        else:
            order = _ORDERS.get(ending or "", "Newest first.")
        return selectors.find_attempts(search=search, ending=ending), order

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.fields

    @admin.display(description="Attempt")
    def attempt_of(self, attempt: Attempt) -> str:
        return str(attempt)

    @admin.display(description="Held by")
    def holder(self, attempt: Attempt) -> str:
        name = f"{attempt.owner} — {attempt.claimant}" if attempt.claimant else attempt.owner
        return isolated(name)

    @admin.display(description="Claimed")
    def claimed(self, attempt: Attempt) -> str:
        return stamp_and_age(attempt.claimed_at, cast(Any, attempt).now)

    @admin.display(description="Ended")
    def ended(self, attempt: Attempt) -> str:
        return stamp(attempt.ended_at)

    @admin.display(description="How it ended")
    def how_it_ended(self, attempt: Attempt) -> str:
        return in_words(attempt)

    @admin.display(description="Summary")
    def summary_shown(self, attempt: Attempt) -> str:
        if attempt.summary is None:
            return "—"
        cut = " (cut when it was reported)" if attempt.summary_truncated else ""
        return isolated(f"{attempt.summary}{cut}")

    @admin.display(description="Artifact")
    def artifact_shown(self, attempt: Attempt) -> str:
        # Not a link: it is a worker's word, and a click leaves the admin.
        return "—" if attempt.artifact is None else isolated(attempt.artifact)

    @admin.display(description="Fenced by a token", boolean=True)
    def fenced(self, attempt: Attempt) -> bool:
        return attempt.lease_token_hash is not None
