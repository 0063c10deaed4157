"""What a transition may answer instead of a todo; the edges map these classes, not messages."""


def first_line(error: BaseException) -> str:
    """What the log may say of an error: behind it PostgreSQL quotes rows and parameters."""
    return str(error).strip().partition("\n")[0]


class SwitchboardError(Exception):
    """Base of all errors that a caller of Switchboard can act upon."""


class InvalidInput(SwitchboardError, ValueError):
    """A value that the caller gave is refused; nothing was written. `field` names it."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class TodoNotFound(SwitchboardError):
    """Absent, or another tenant's: the two look the same (the domain: Transitions)."""

    def __init__(self, what: str = "todo") -> None:
        super().__init__(f"{what} not found")


class TodoConflict(SwitchboardError):
    """The todo is there, but in another state or held by someone else; nothing was written.

    `state` is the state that it was found in, where there is one.
    """

    def __init__(self, message: str, *, state: str | None = None) -> None:
        super().__init__(message)
        self.state = state


class EndpointInactive(TodoConflict):
    """The endpoint is revoked or expired: nothing can be created, claimed or retried there."""

    def __init__(self) -> None:
        super().__init__("the endpoint is revoked or has expired")
