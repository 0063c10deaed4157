"""On the settings page: what another interrupt TTL would do to the waits there are."""

from dataclasses import dataclass
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from settings_app import effects
from settings_app.registry import INTERRUPT_LEASE_TTL
from settings_app.values import duration, quantity, roughly
from todos import ttl_effect
from todos.admin.shown import isolated, shortened, stamp
from todos.ttl_effect import AgeRange, Share, TtlEffect

QUEUES_SHOWN = 10
_NAME_CUT_AT = 60


@dataclass(frozen=True)
class Drawn:
    """A `TtlEffect` as its template draws it: a `settings_app.effects.Effect`."""

    told: TtlEffect
    template: str = "admin/todos/ttl_effect.html"
    stylesheet: str = "todos/ttl_effect.css"

    @property
    def summary(self) -> str:
        return self.told.summary

    @property
    def asks(self) -> bool:
        """A confirmation, if anything becomes due by it or loses its deadline."""
        return self.told.changes and bool(self.told.total.added or self.told.given_up)

    @property
    def counted_at(self) -> str:
        return stamp(self.told.waits.now)

    @property
    def oldest(self) -> dict[str, Any] | None:
        wait = self.told.waits.oldest
        if wait is None:
            return None
        return {
            "id": wait.id,
            "age": roughly(self.told.total.oldest_seconds),
            "queue": _name(wait.queue),
            "holder": _name(wait.owner or "nobody"),
        }

    @property
    def columns(self) -> list[str]:
        """What the table of queues tells of each, in the order of its cells."""
        if not self.told.changes:
            due = ["Due"]
        else:
            due = ["Due already", "Newly due"]
            if self.told.total.spared:
                due.append("No longer due")
        return ["Waits", *due, "To pending", "To dead letters", "Oldest"]

    @property
    def queues(self) -> list[dict[str, Any]]:
        """A row for each queue, the most affected first, and one for all beyond the bound."""
        shown, rest = self.told.queues[:QUEUES_SHOWN], self.told.queues[QUEUES_SHOWN:]
        rows = [(_name(share.queue), share) for share in shown]
        if rest:
            more = format_html("{} more queues", f"{len(rest):,}")
            rows.append((more, ttl_effect.added_up(rest)))
        return [{"name": name, "cells": self._cells(share)} for name, share in rows]

    def _cells(self, share: Share) -> list[tuple[str, str]]:
        numbers = {
            "Waits": share.waits,
            "Due": share.due,
            "Due already": share.already,
            "Newly due": share.added,
            "No longer due": share.spared,
            "To pending": share.requeued,
            "To dead letters": share.dead_lettered,
        }
        shown = {name: f"{number:,}" for name, number in numbers.items()}
        shown["Oldest"] = roughly(share.oldest_seconds)
        return [(name, shown[name]) for name in self.columns]

    @property
    def ages(self) -> list[dict[str, Any]]:
        """The rows of the histogram from young to old: bars, and the deadlines between them."""
        most = max((ages.waits for ages in self.told.ages), default=0)
        rows: list[dict[str, Any]] = []
        for ages in _without_empty_ends(self.told):
            if line := self._deadline(ages.start):
                rows.append({"deadline": line})
            previous = rows[-1] if rows else {}
            if not ages.waits and previous.get("waits") == 0:
                # One row for a run of empty ones.
                start = previous["start"]
                rows[-1] = self._bar(AgeRange(start, ages.end, 0), most)
            else:
                rows.append(self._bar(ages, most))
        return rows

    def _bar(self, ages: AgeRange, most: int) -> dict[str, Any]:
        fate, mark = self._fate(ages) if ages.waits else ("", "")
        return {
            "start": ages.start,
            "label": _range(ages),
            "waits": ages.waits,
            "number": f"{ages.waits:,}",
            "percent": max(1, 100 * ages.waits // most) if ages.waits else 0,
            "fate": fate,
            "mark": mark,
        }

    def _fate(self, ages: AgeRange) -> tuple[str, str]:
        before, after = (
            ttl is not None and ages.start >= ttl
            for ttl in (self.told.ttl_before, self.told.ttl_after)
        )
        if before and after:
            return ("due already" if self.told.changes else "due"), "due"
        if after:
            return "newly due", "newly"
        return ("no longer due" if before else "not due"), ""

    def _deadline(self, seconds: int) -> str:
        before = seconds == self.told.ttl_before
        after = seconds == self.told.ttl_after
        if not before and not after:
            return ""
        amount = quantity(seconds, INTERRUPT_LEASE_TTL.unit)
        if before and after:
            return f"Deadline: {amount}"
        if after:
            return f"New deadline: {amount}"
        given_up = ", given up" if self.told.ttl_after is None else ""
        return f"Present deadline{given_up}: {amount}"


def foresee(before: str | None, after: str | None) -> Drawn:
    return Drawn(ttl_effect.foresee(before, after))


effects.register(INTERRUPT_LEASE_TTL.key, foresee)


def _without_empty_ends(told: TtlEffect) -> list[AgeRange]:
    deadlines = (told.ttl_before, told.ttl_after)
    # What follows a deadline is shown even if it is empty, so that the line has two sides.
    wanted = [
        place
        for place, ages in enumerate(told.ages)
        if ages.waits or ages.start in deadlines or (ages.end in deadlines and ages.end)
    ]
    return told.ages[wanted[0] : wanted[-1] + 1] if wanted else []


def _range(ages: AgeRange) -> str:
    if ages.end is None:
        return f"{duration(ages.start)} and more"
    if not ages.start:
        return f"under {duration(ages.end)}"
    return f"{duration(ages.start)} to {duration(ages.end)}"


def _name(text: str) -> SafeString:
    return isolated(shortened(text, _NAME_CUT_AT))
