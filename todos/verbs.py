"""What an endpoint may be granted: the names of the operations over HTTP (the domain: Verbs)."""

from enum import StrEnum


class Verb(StrEnum):
    LIST = "list"
    GET = "get"
    CLAIM = "claim"
    HEARTBEAT = "heartbeat"
    COMPLETE = "complete"
    FAIL = "fail"
    RELEASE = "release"
    INTERRUPT = "interrupt"
    RESUME = "resume"
    EVENTS = "events"
    CREATE = "create"
    CANCEL = "cancel"
    REJECT = "reject"
    RETRY = "retry"


DRAIN = (
    Verb.LIST,
    Verb.GET,
    Verb.CLAIM,
    Verb.HEARTBEAT,
    Verb.COMPLETE,
    Verb.FAIL,
    Verb.RELEASE,
    Verb.INTERRUPT,
    Verb.RESUME,
    Verb.EVENTS,
)
"""The default grant: what a worker needs to drain a queue. Whoever may also retry can undo the
attempt cap."""
