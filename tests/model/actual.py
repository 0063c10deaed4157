"""What the database holds, compared with what should be there and with the invariants."""

import json
from collections import Counter
from typing import Any

from django.db import connection

from tests.model.expected import Item

_TODOS = """
SELECT t.id, t.state, t.owner, t.attempt, t.attempts_total, t.attempts_pruned,
       t.lease_expires_at IS NOT NULL, t.lease_expires_at < statement_timestamp(),
       t.interrupted_at IS NOT NULL, t.next_retry_at IS NOT NULL,
       t.next_retry_at <= statement_timestamp(), t.completed_at IS NOT NULL, t.result::text,
       ARRAY(SELECT concat_ws(' ', a.seq, a.attempt, a.owner, a.lease_token_hash IS NOT NULL,
                              COALESCE(concat_ws('/', a.outcome, a.disposition, a.ended_from), ''),
                              a.ended_at IS NULL)
             FROM todo_attempts a WHERE a.todo_id = t.id ORDER BY a.seq),
       e.revocation_finished_at IS NOT NULL
FROM todos t JOIN endpoints e ON e.id = t.endpoint_id
ORDER BY t.created_at, t.id
"""
HELD = ("claimed", "input-required", "auth-required")
WAITS = ("input-required", "auth-required")


def assert_as_expected(items: list[Item]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_TODOS)
        rows = cursor.fetchall()
    assert [row[0] for row in rows] == [item.id for item in items]
    for row, item in zip(rows, items, strict=True):
        _assert_row(row, item)
        _assert_sound(row, stamped=item.stamped)


def _assert_row(row: tuple[Any, ...], item: Item) -> None:
    _, state, owner, attempt, total, pruned, *_ = row
    (lapsed, parked, due, result, entries) = (row[7], row[9], row[10], row[12], row[13])
    assert (state, owner, attempt, total, pruned) == (
        item.state,
        item.owner,
        item.attempt,
        len(item.entries),
        item.pruned,
    )
    assert bool(lapsed) == (item.held and item.lapsed)
    assert (parked, bool(due)) == (item.parked, item.due)
    assert _without_detail(None if result is None else json.loads(result)) == item.result
    assert entries == [
        f"{seq} {entry.attempt} {entry.owner} {'t' if entry.token else 'f'}"
        f" {'/'.join(entry.end or ())} {'f' if entry.end else 't'}"
        for seq, entry in enumerate(item.entries, start=1)
        if seq > item.pruned
    ]


def _assert_sound(row: tuple[Any, ...], *, stamped: bool) -> None:
    """The invariants of the domain, whatever the model says."""
    _, state, owner, _, total, pruned, leased, _, waits, parked, _, completed, _, entries, over = (
        row
    )
    opened = [entry for entry in entries if entry.endswith(" t")]
    assert len(opened) == (state in HELD)
    assert (owner is not None, leased) == (state in HELD, state in HELD)
    assert waits == (state in WAITS and stamped)
    assert total == len(entries) + pruned
    assert not parked or state == "failed"
    ended = state in ("done", "canceled", "rejected") or (state == "failed" and not parked)
    assert completed == ended
    assert ended or not over


def _without_detail(result: Any) -> Any:
    """A cause explains itself in one line, which is not compared; what was there before is kept
    beside it, and may be a cause itself."""
    if not isinstance(result, dict) or "error" not in result:
        return result
    detail = result.pop("detail")
    assert detail
    assert "\n" not in detail
    return {name: _without_detail(value) for name, value in result.items()}


def assert_tallies(items: list[Item]) -> None:
    """What was pruned is counted, by outcome and by the state that it ended from."""
    pruned = [entry.end for item in items for entry in item.entries[: item.pruned]]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT outcome, ended_from, sum(count) FROM todo_attempt_tallies GROUP BY 1, 2"
        )
        tallied = {(outcome, ended_from): int(n) for outcome, ended_from, n in cursor.fetchall()}
    assert tallied == Counter((end[0], end[2]) for end in pruned if end)
