"""The board as pieces of a page, each with a key, and what has changed between two of them.

No piece says how long something takes or took: it names moments, and the page counts. So a piece
changes only when its row does, and most of them never travel twice.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.template.loader import render_to_string

from todos.admin.shown import isolated, shortened, span
from todos.board import lanes
from todos.board.clocks import Clock, clock_of, why_dead
from todos.board.lanes import Card, Filters, Lane, Reclaim
from todos.states import INTERRUPT_STATES

_OWNER_SHOWN = 24


@dataclass(frozen=True)
class Snapshot:
    now: datetime
    heads: dict[str, str]
    """The head of each lane."""
    order: dict[str, tuple[str, ...]]
    """The ids of each lane's todos."""
    cards: dict[str, str]
    reclaims: dict[str, str]
    """By the attempts' ids, the latest first."""

    def since(self, before: "Snapshot | None") -> dict[str, Any]:
        """What a page has to change that shows `before`; None: what it shows is not known."""
        return {
            "now": self.now.timestamp() * 1_000,
            "whole": before is None,
            "order": self.order,
            "heads": _changed(self.heads, before.heads if before else {}),
            "cards": _changed(self.cards, before.cards if before else {}),
            "reclaims": list(self.reclaims),
            "news": _changed(self.reclaims, before.reclaims if before else {}),
        }


def take(filters: Filters) -> Snapshot:
    """Raises DatabaseError."""
    state = lanes.read(filters)
    return Snapshot(
        now=state.now,
        heads={lane.kind.name: _head(lane, bool(filters)) for lane in state.lanes},
        order={lane.kind.name: tuple(card.id for card in lane.cards) for lane in state.lanes},
        cards={
            card.id: _card(lane.kind.name, card, state.ttl)
            for lane in state.lanes
            for card in lane.cards
        },
        reclaims={str(reclaim.attempt_id): _reclaim(reclaim) for reclaim in state.reclaims},
    )


def _changed(now: dict[str, str], before: dict[str, str]) -> dict[str, str]:
    return {key: text for key, text in now.items() if before.get(key) != text}


@lru_cache(maxsize=8_192)
def _card(lane: str, card: Card, ttl: timedelta | None) -> str:
    context = {
        "lane": lane,
        "card": card,
        "title": isolated(card.title),
        "queue": isolated(card.queue),
        "owner": isolated(shortened(card.owner or "", _OWNER_SHOWN)),
        "claimant": isolated(card.claimant) if card.claimant else "",
        "waits": card.state in INTERRUPT_STATES,
        "clock": clock_of(card, ttl),
        "waited": card.interrupted_at and Clock("waits", card.interrupted_at, counts="since"),
        "why": why_dead(card) if lane == "dead" else "",
    }
    return render_to_string("todos/board/card.html", context)


def _head(lane: Lane, filtered: bool) -> str:
    count = f"{lane.total:,}" + ("+" if lane.cut else "")
    context = {
        "lane": lane,
        "count": count,
        "since": lane.oldest and Clock("", lane.oldest, counts="since"),
        "at_least": lane.cut and not lane.kind.by_age,
        "more": f"{lane.more:,}" + ("+" if lane.cut else "") if lane.more or lane.cut else "",
        "looked_through": f"{lanes.LOOKED_THROUGH:,}" if lane.cut and filtered else "",
    }
    return render_to_string("todos/board/head.html", context)


@lru_cache(maxsize=2_048)
def _reclaim(reclaim: Reclaim) -> str:
    waited = None
    if reclaim.waited_since is not None:
        waited = span(reclaim.ended_at - reclaim.waited_since)
    context = {
        "reclaim": reclaim,
        "title": isolated(reclaim.title),
        "queue": isolated(reclaim.queue),
        "waited": waited,
    }
    return render_to_string("todos/board/reclaim.html", context)
