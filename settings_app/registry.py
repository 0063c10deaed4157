"""THE table of what operators tune (the domain: Settings): one `Tunable` per row of `settings`.

It is plain data: `values` says what a stored text means, `reading` fetches it, `admin` shows it.
No environment variable stands in for a row, so nothing here may look at the environment.
"""

from dataclasses import dataclass
from enum import StrEnum

# A lease's bounds and the interrupt TTL's default and floor are the same two numbers on purpose
# (ADR-0046): a wait outlives every lease that could still resume it, and is never shorter than
# the shortest lease. `todos.lease` takes them from here as its MAX_TTL and MIN_DEFAULT, because
# this app imports nothing from `todos`.
MAX_LEASE_SECONDS = 86_400
MIN_LEASE_SECONDS = 60

_CENTURY_DAYS = 36_525
_CENTURY_SECONDS = _CENTURY_DAYS * 86_400


class Unit(StrEnum):
    SECONDS = "s"
    MILLISECONDS = "ms"
    DAYS = "days"
    ATTEMPTS = "attempts"
    ROWS = "rows"
    PER_MINUTE = "per minute"


@dataclass(frozen=True)
class Tunable:
    """One key: numbers from `floor` to `ceiling` count as they are, in `unit`.

    Below: a number ≤ 0 means `off`, any other is raised to `floor`. Above: it means `beyond`,
    or is lowered to `ceiling`. Empty words say that the meaning does not exist for this key.
    """

    key: str
    default: int
    unit: Unit
    floor: int
    ceiling: int
    help: str
    off: str = ""
    beyond: str = ""


INTERRUPT_LEASE_TTL = Tunable(
    key="interrupt_lease_ttl_seconds",
    default=MAX_LEASE_SECONDS,
    unit=Unit.SECONDS,
    floor=MIN_LEASE_SECONDS,
    ceiling=_CENTURY_SECONDS,
    help=(
        "How long a todo may wait for an answer (input-required, auth-required). Past it the "
        "sweep takes the todo from its holder and puts it back to pending, or dead-letters it "
        "at its last attempt."
    ),
    off="the sweep is off",
    beyond="never, no wait is ever reclaimed",
)

SSE_RETRY = Tunable(
    key="sse_retry_ms",
    default=3_000,
    unit=Unit.MILLISECONDS,
    floor=250,
    ceiling=60_000,
    help="How long a page that lost its live stream waits before it connects again.",
)

# The two ceilings below are far beyond any use and leave room for arithmetic in SQL on a
# 4-byte and an 8-byte number.
ATTEMPT_HISTORY_MAX = Tunable(
    key="attempt_history_max_per_todo",
    default=50,
    unit=Unit.ATTEMPTS,
    floor=5,
    ceiling=1_000_000_000,
    help=(
        "How many attempts of one todo are kept. The claim that exceeds it drops the oldest "
        "closed ones; how many were dropped stays counted on the todo."
    ),
    beyond="unlimited",
)

RETENTION_MAX_AGE = Tunable(
    key="retention_max_age_days",
    default=30,
    unit=Unit.DAYS,
    floor=1,
    ceiling=_CENTURY_DAYS,
    help="Done, canceled and rejected todos older than this are deleted with their attempts.",
    off="never by age",
    beyond="never by age",
)

RETENTION_MAX_ROWS = Tunable(
    key="retention_max_rows",
    default=500_000,
    unit=Unit.ROWS,
    floor=1,
    ceiling=1_000_000_000_000,
    help=(
        "Of the done, canceled and rejected todos only the newest this many are kept; older "
        "ones are deleted with their attempts."
    ),
    off="never by count",
    beyond="never by count",
)

DEAD_LETTER_MAX_AGE = Tunable(
    key="dead_letter_max_age_days",
    default=365,
    unit=Unit.DAYS,
    floor=1,
    ceiling=_CENTURY_DAYS,
    help="Dead letters (failed, no retry due) older than this are deleted with their attempts.",
    off="never",
    beyond="never",
)

CREATE_RATE = Tunable(
    key="create_rate_per_minute",
    default=600,
    unit=Unit.PER_MINUTE,
    floor=1,
    ceiling=1_000_000,
    help=(
        "How many todos each endpoint may create over HTTP in a minute. A minute's worth may come "
        "at once; what is beyond is refused and told when to try again."
    ),
    off="no limit",
    beyond="no limit",
)

TUNABLES = {
    tunable.key: tunable
    for tunable in (
        INTERRUPT_LEASE_TTL,
        SSE_RETRY,
        ATTEMPT_HISTORY_MAX,
        RETENTION_MAX_AGE,
        RETENTION_MAX_ROWS,
        DEAD_LETTER_MAX_AGE,
        CREATE_RATE,
    )
}
"""Every known key, in the order in which the admin lists them."""
