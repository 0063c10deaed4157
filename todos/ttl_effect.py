"""What another interrupt TTL would do to the waits there are, before an operator saves it.

Its counts are exact at the moment that they are taken: a tick at that moment would do just that.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from settings_app.registry import INTERRUPT_LEASE_TTL
from settings_app.values import in_words, interpret, roughly, shown
from todos import selectors
from todos.selectors import WaitGroup, Waits

_HOUR, _DAY = 3_600, 86_400
_AGES = (
    *(60, 300, 900, _HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR, _DAY),
    *(2 * _DAY, 7 * _DAY, 30 * _DAY, 90 * _DAY, 365 * _DAY),
)


@dataclass(frozen=True)
class Share:
    """Waits, of one queue or of all, and what the next tick does to them."""

    queue: str
    waits: int
    already: int
    """Due under the present TTL and under the other one, too."""
    added: int
    """Due under the other TTL alone."""
    spared: int
    """Due under the present TTL alone."""
    requeued: int
    dead_lettered: int
    oldest_seconds: float

    @property
    def due(self) -> int:
        return self.already + self.added


@dataclass(frozen=True)
class AgeRange:
    """How many waits are at least `start` seconds old and less than `end`; None: any older."""

    start: int
    end: int | None
    waits: int


@dataclass(frozen=True)
class TtlEffect:
    """What a change of the stored text from `before` to `after` does; None: the default."""

    before: str | None
    after: str | None
    waits: Waits
    total: Share
    queues: list[Share]
    """The most affected first."""
    ages: list[AgeRange]
    """From 0 on without a gap. Either TTL is the end of one and the start of the next."""

    @property
    def ttl_before(self) -> int | None:
        return _seconds(self.before)

    @property
    def ttl_after(self) -> int | None:
        return _seconds(self.after)

    @property
    def changes(self) -> bool:
        return self.ttl_before != self.ttl_after

    @property
    def given_up(self) -> int:
        """How many waits have a deadline now and will have none."""
        gives_up = self.ttl_before is not None and self.ttl_after is None
        return self.total.waits if gives_up else 0

    @property
    def words(self) -> str:
        """The value that would be in effect: `3600 s (1 h)`, `0 → the sweep is off`."""
        return in_words(INTERRUPT_LEASE_TTL, self.after)

    @property
    def summary(self) -> str:
        """What happens, in a sentence or two."""
        return " ".join(_sentences(self))

    @property
    def oldest_in_words(self) -> str:
        """The oldest wait on one line, whatever its names hold; empty if nothing waits."""
        oldest = self.waits.oldest
        if oldest is None:
            return ""
        queue, holder = shown(oldest.queue), shown(oldest.owner or "nobody")
        return f"Oldest: {roughly(self.total.oldest_seconds)}, queue {queue}, holder {holder}."


def foresee(before: str | None, after: str | None) -> TtlEffect:
    """By one statement; the texts are those of the settings row, None for no row."""
    ttls = [_seconds(before), _seconds(after)]
    edges = sorted({*_AGES, *(ttl for ttl in ttls if ttl is not None)})
    old, new = (None if ttl is None else timedelta(seconds=ttl) for ttl in ttls)
    waits = selectors.waits_under(old, new, edges)
    by_queue: dict[str, list[WaitGroup]] = {}
    for group in waits.groups:
        by_queue.setdefault(group.queue, []).append(group)
    queues = [_share(queue, groups) for queue, groups in by_queue.items()]
    queues.sort(key=lambda share: (-share.due, -share.waits, share.queue))
    return TtlEffect(
        before=before,
        after=after,
        waits=waits,
        total=added_up(queues),
        queues=queues,
        ages=_ages(edges, waits.groups),
    )


def added_up(shares: Iterable[Share]) -> Share:
    """The shares of several queues as one."""
    shares = list(shares)
    return Share(
        queue="",
        waits=sum(share.waits for share in shares),
        already=sum(share.already for share in shares),
        added=sum(share.added for share in shares),
        spared=sum(share.spared for share in shares),
        requeued=sum(share.requeued for share in shares),
        dead_lettered=sum(share.dead_lettered for share in shares),
        oldest_seconds=max((share.oldest_seconds for share in shares), default=0),
    )


def _seconds(stored: str | None) -> int | None:
    return interpret(INTERRUPT_LEASE_TTL, stored).number


def _share(queue: str, groups: list[WaitGroup]) -> Share:
    # Whatever is due under the longer TTL is due under the shorter one, too.
    already = sum(min(group.due_before, group.due_after) for group in groups)
    due_after = sum(group.due_after for group in groups)
    dead_lettered = sum(group.due_after for group in groups if group.at_cap)
    return Share(
        queue=queue,
        waits=sum(group.waits for group in groups),
        already=already,
        added=due_after - already,
        spared=sum(group.due_before for group in groups) - already,
        requeued=due_after - dead_lettered,
        dead_lettered=dead_lettered,
        oldest_seconds=max(group.oldest_seconds for group in groups),
    )


def _ages(edges: list[int], groups: Iterable[WaitGroup]) -> list[AgeRange]:
    waits = [0] * (len(edges) + 1)
    for group in groups:
        waits[group.bucket] += group.waits
    starts, ends = [0, *edges], [*edges, None]
    return [AgeRange(*one) for one in zip(starts, ends, waits, strict=True)]


def _sentences(effect: TtlEffect) -> Iterable[str]:
    total = effect.total
    if not total.waits:
        yield "Nothing waits now."
        return
    if effect.ttl_after is None:
        if effect.given_up:
            yield f"{_waits(total.waits, 'has', 'have')} no deadline any more."
        else:
            yield f"{_waits(total.waits, 'has', 'have')} no deadline."
    elif not total.due:
        yield f"No wait is due at the next tick; {_waits(total.waits, 'goes', 'go')} on."
    else:
        yield f"{_due(effect)}: {_outcomes(total)}."
    if total.spared:
        yield (
            f"{_waits(total.spared, 'that is due now is', 'that are due now are')} due no longer, "
            "unless a tick comes before the save."
        )
    if effect.ttl_before is None and effect.ttl_after is not None and total.waits > total.due:
        yield f"{_waits(total.waits - total.due, 'gets', 'get')} a deadline that is still to come."


def _due(effect: TtlEffect) -> str:
    total = effect.total
    if not total.added:
        already = " already, whatever is saved" if effect.changes else ""
        return f"{_waits(total.due, 'is', 'are')} due at the next tick{already}"
    words = f"{_waits(total.due, 'becomes', 'become')} due at the next tick"
    if total.already:
        words += f" ({total.already:,} of them {_one(total.already, 'is', 'are')} due already)"
    return words


def _outcomes(total: Share) -> str:
    words = []
    if total.requeued:
        words.append(f"{total.requeued:,} {_one(total.requeued, 'goes', 'go')} back to pending")
    if total.dead_lettered:
        dead = _one(total.dead_lettered, "becomes a dead letter", "become dead letters")
        words.append(f"{total.dead_lettered:,} {dead}")
    return ", ".join(words)


def _waits(number: int, verb: str, verbs: str) -> str:
    return f"{number:,} {_one(number, 'wait', 'waits')} {_one(number, verb, verbs)}"


def _one(number: int, one: str, many: str) -> str:
    return one if number == 1 else many
