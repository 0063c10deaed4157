"""What operators do with todos: each calls one transition, as a caller of every tenant."""

from todos import reaper, transitions
from todos.admin.actions import Operation
from todos.admin.forms import AnswerForm
from todos.states import TRANSITIONS

OPERATIONS = (
    Operation(
        "resume",
        "Answer and resume",
        "Answered and resumed",
        lambda key, data: transitions.resume(
            None, key, owner=None, result=data["answer"], renew_lease=True
        ),
        TRANSITIONS["resume"].sources,
        form=AnswerForm,
    ),
    Operation(
        "reclaim",
        "Reclaim now",
        "Reclaimed",
        lambda key, data: reaper.reclaim_now(key),
        TRANSITIONS["reclaim now"].sources,
        warning=(
            "Takes the wait from its holder, as if it had lapsed: back to pending, or at the last "
            "attempt a dead letter. An answer that comes later is refused."
        ),
    ),
    Operation(
        "release",
        "Release",
        "Released",
        lambda key, data: transitions.release(None, key, owner=None),
        TRANSITIONS["release"].sources,
        warning=(
            "Takes the todo from its holder and puts it back to pending; the attempt stays used. "
            "What the holder reports later is refused."
        ),
    ),
    Operation(
        "retry",
        "Retry",
        "Put back to pending",
        lambda key, data: transitions.retry(None, key),
        TRANSITIONS["retry"].sources,
    ),
    Operation(
        "cancel",
        "Cancel",
        "Canceled",
        lambda key, data: transitions.cancel(None, key),
        TRANSITIONS["cancel"].sources,
        warning=(
            "Ends the todo for good, whoever holds it; its result, and with it what a wait asks, "
            "is emptied. A canceled todo cannot be brought back."
        ),
    ),
)
