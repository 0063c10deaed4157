"""Every transition that a caller makes: one function per row of the table in `todos.states`.

`endpoint=None` means an operator: every tenant, no owner to match, no fence. A refused call
raises InvalidInput, TodoNotFound or TodoConflict and has written nothing. Called inside
`atomic()`, a transition takes part in that transaction.
"""

from todos.transitions.client import cancel, create, reject, resume, retry
from todos.transitions.repeats import repeated
from todos.transitions.worker import (
    Claim,
    claim,
    claim_next,
    complete,
    fail,
    heartbeat,
    interrupt,
    release,
    token_hash,
)

__all__ = [
    "Claim",
    "cancel",
    "claim",
    "claim_next",
    "complete",
    "create",
    "fail",
    "heartbeat",
    "interrupt",
    "reject",
    "release",
    "repeated",
    "resume",
    "retry",
    "token_hash",
]
