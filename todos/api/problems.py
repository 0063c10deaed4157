"""What a request may be answered instead of what it asked for: one code and status each."""

from typing import Any, Literal

NOTHING, UNKNOWN = "none", "unknown"
"""What a request has changed that found the database away: nothing, or nobody knows."""

Outcome = Literal["none", "unknown"]


class Problem(Exception):
    """Base of what the API itself refuses; `extra` stands beside code and message."""

    code: str
    status: int
    message: str

    def __init__(self, message: str | None = None, **extra: Any) -> None:
        super().__init__(message or self.message)
        self.extra = extra
        self.headers: dict[str, str] = {}


class Unauthenticated(Problem):
    code, status = "unauthenticated", 401
    message = "a valid credential is needed: Authorization: Bearer <credential>"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message)
        self.headers["WWW-Authenticate"] = "Bearer"


class Forbidden(Problem):
    code, status = "forbidden", 403


class NotFound(Problem):
    code, status = "not_found", 404
    message = "the endpoint has no such todo"


class MethodNotAllowed(Problem):
    code, status = "method_not_allowed", 405
    message = "this address answers another method"


class Conflict(Problem):
    code, status = "conflict", 409


class TooLarge(Problem):
    code, status = "too_large", 413


class UnsupportedMediaType(Problem):
    code, status = "unsupported_media_type", 415
    message = "the body must be application/json"


class InvalidArgument(Problem):
    code, status = "invalid_argument", 422


class RateLimited(Problem):
    code, status = "rate_limited", 429

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.headers["Retry-After"] = str(retry_after)


class Internal(Problem):
    code, status = "internal", 500
    message = "something went wrong here; the log has it under this id"


class Unavailable(Problem):
    code, status = "unavailable", 503
    message = "the database cannot be reached now, or was too busy; try again"

    def __init__(self, outcome: Outcome, message: str | None = None) -> None:
        super().__init__(message, outcome=outcome)
        self.outcome = outcome
        self.headers["Retry-After"] = "1"


STATUS = {problem.code: problem.status for problem in Problem.__subclasses__()}
"""Every error code and its HTTP status."""
