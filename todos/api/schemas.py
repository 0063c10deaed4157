"""What goes in and out, as the OpenAPI document shows it. Bounds are those of `todos.inputs`."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from todos import inputs, lease
from todos.api.problems import STATUS, Outcome
from todos.states import INTERRUPT_STATES, State

TTL = Annotated[
    int | None,
    Field(
        ge=1,
        description=f"How long the lease lasts, in seconds; above {lease.MAX_TTL} it is cut to "
        f"that. Without it the endpoint's default counts, else {lease.SERVER_DEFAULT}.",
        examples=[300],
    ),
]
Token = Annotated[
    str | None,
    Field(max_length=200, description="The `lease_token` of a claim that asked for a fence."),
]
Name = Annotated[str, Field(min_length=1, max_length=inputs.MAX_LABEL_LENGTH)]
OptionalName = Annotated[str, Field(max_length=inputs.MAX_LABEL_LENGTH)]
Document = Annotated[Any, Field(description="Any JSON.", examples=[{"answer": "blue"}])]
Summary = Annotated[
    str | None,
    Field(
        description="What happened, for people; cut to 2048 bytes. Without one, the JSON of "
        "`result`.",
        examples=["sent to 12 people"],
    ),
]
Artifact = Annotated[
    str | None,
    Field(
        max_length=inputs.MAX_ARTIFACT_BYTES,
        description="Where the work can be seen: an https URL or an mcp:// handle.",
        examples=["https://example.org/reports/7"],
    ),
]


class Given(BaseModel):
    """Base of what clients send: nothing is converted, and nothing unknown is let pass."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Create(Given):
    queue: Annotated[Name, Field(description="A queue of the endpoint.", examples=["inbox"])]
    title: Annotated[Name, Field(examples=["Answer the letter of 3 May"])]
    payload: Annotated[Any, Field(description="Any JSON: what the worker needs.")] = None
    kind: Annotated[OptionalName, Field(description="A word of yours, for workers.")] = ""
    source: Annotated[OptionalName, Field(description="Where it comes from.")] = ""
    idempotency_key: Annotated[
        Name | None,
        Field(
            description="While a todo with this key is live, it is returned and none is made.",
            examples=["letter-1007"],
        ),
    ] = None
    assignee: Annotated[
        Name | None, Field(description="Only this owner can claim it, `agent:<endpoint id>`.")
    ] = None
    max_attempts: Annotated[int, Field(ge=1, le=inputs.MAX_INT4)] = 5


class Take(Given):
    lease_ttl_seconds: TTL = None
    claimant: Annotated[
        str,
        Field(
            description="Your own name among the workers of this endpoint; cut to 128 bytes.",
            examples=["worker-2"],
        ),
    ] = ""
    fence: Annotated[
        bool,
        Field(
            description="Return a `lease_token`, once, which heartbeat, complete, fail, release "
            "and interrupt then need: so that workers of one endpoint cannot end each other's "
            "claims."
        ),
    ] = False


class TakeNext(Take):
    queues: Annotated[
        list[Name] | None,
        Field(
            min_length=1,
            description="Of these queues only; without it, of all that are granted.",
            examples=[["inbox"]],
        ),
    ] = None
    wait_seconds: Annotated[
        int,
        Field(
            ge=0,
            le=30,
            description="How long to wait for work if there is none now.",
            examples=[30],
        ),
    ] = 0


class Heartbeat(Given):
    lease_ttl_seconds: TTL = None
    lease_token: Token = None


class Report(Given):
    result: Document = None
    summary: Summary = None
    artifact: Artifact = None
    lease_token: Token = None


class Release(Given):
    summary: Summary = None
    artifact: Artifact = None
    lease_token: Token = None


class Interrupt(Given):
    state: Annotated[
        Literal[tuple(str(state) for state in INTERRUPT_STATES)],  # type: ignore[valid-type]
        Field(description="What it waits for: an answer, or an authorization."),
    ]
    result: Annotated[
        Any, Field(description="What is asked.", examples=[{"question": "Red or blue?"}])
    ] = None
    lease_token: Token = None


class Resume(Given):
    result: Annotated[
        Any, Field(description="The answer; without one, what was asked stays the result.")
    ] = None
    lease_ttl_seconds: TTL = None


class End(Given):
    result: Annotated[Any, Field(description="Why.", examples=[{"reason": "sent twice"}])] = None


class Nothing(Given):
    """An empty object, or no body at all."""


class Listed(BaseModel):
    """A todo without its documents, `payload` and `result`."""

    model_config = ConfigDict(extra="forbid")

    id: Annotated[str, Field(examples=["td_0197f1f2-7c3e-7d43-a0b1-0d1b3a1f6f10"])]
    queue: str
    title: str
    kind: str
    source: str
    idempotency_key: str | None
    assignee: str | None
    state: State
    owner: Annotated[str | None, Field(description="Who holds it.")]
    lease_expires_at: datetime | None
    claimed_at: datetime | None
    attempt: Annotated[int, Field(description="How many attempts count towards the cap.")]
    max_attempts: int
    attempts_total: int
    attempts_pruned: Annotated[int, Field(description="How many of them are no longer kept.")]
    interrupted_at: Annotated[datetime | None, Field(description="When its wait began.")]
    next_retry_at: Annotated[
        datetime | None, Field(description="When a failed todo is tried again.")
    ]
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None
    dead_letter: Annotated[bool, Field(description="`failed`, and not tried again by itself.")]


class Todo(Listed):
    payload: Any
    result: Annotated[
        Any, Field(description="What was asked, answered, or reported last; or why it ended.")
    ]


class Attempt(BaseModel):
    """One span from a claim to what ended it."""

    model_config = ConfigDict(extra="forbid")

    seq: int
    attempt: int
    claimer_kind: Literal["endpoint", "owner"]
    owner: str
    claimant: str
    claimed_at: datetime
    last_heartbeat_at: datetime | None
    lease_expires_at: datetime
    ended_at: datetime | None
    ended_from: State | None
    outcome: str | None
    disposition: str | None
    died: Annotated[bool, Field(description="Its holder never reported.")]
    summary: str | None
    summary_truncated: bool
    artifact: str | None


class Created(BaseModel):
    model_config = ConfigDict(extra="forbid")

    todo: Todo
    created: Annotated[
        bool, Field(description="false: this live todo already had the `idempotency_key`.")
    ]


class Detail(Todo):
    """A todo and its attempts, newest first."""

    reclaim_at: Annotated[
        datetime | None,
        Field(description="When its wait lapses; null: it does not wait, or may wait for ever."),
    ]
    attempts: list[Attempt]


class Page(BaseModel):
    model_config = ConfigDict(extra="forbid")

    todos: list[Listed]
    next_cursor: Annotated[
        str | None, Field(description="`cursor` of the next page; null: this is the last one.")
    ]


class Claim(BaseModel):
    model_config = ConfigDict(extra="forbid")

    todo: Todo
    attempt_seq: Annotated[int, Field(description="The number of this attempt.")]
    attempts_total: int
    prior_attempts: Annotated[
        list[Attempt], Field(description="The five latest closed ones, newest first.")
    ]
    # Absent, never null, without a fence.
    lease_token: Annotated[
        str, Field(description="The fence, if one was asked for; it is not shown again.")
    ] = None  # type: ignore[assignment]


class Leases(BaseModel):
    model_config = ConfigDict(extra="forbid")

    default_seconds: Annotated[int, Field(description="Of a claim that asks for none.")]
    max_seconds: int


class Whoami(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: str
    name: str
    owner: Annotated[str, Field(description="What its claims write on a todo.")]
    queues: list[str]
    verbs: list[str]
    created_at: datetime
    expires_at: datetime | None
    lease: Leases
    interrupt_lease_ttl_seconds: Annotated[
        int | None, Field(description="How long a wait may last; null: for ever.")
    ]


class Trouble(BaseModel):
    model_config = ConfigDict(extra="forbid")

    code: Literal[tuple(STATUS)]  # type: ignore[valid-type]
    message: Annotated[str, Field(description="What happened, in words.")]
    # None: these are absent where they do not apply, never null.
    field: Annotated[str, Field(description="Which field was refused.")] = None  # type: ignore[assignment]
    state: Annotated[State, Field(description="The state of the todo.")] = None  # type: ignore[assignment]
    attempt: Annotated[int, Field(description="How many attempts count.")] = None  # type: ignore[assignment]
    outcome: Annotated[
        Outcome, Field(description="unknown: what was asked may have been done.")
    ] = None  # type: ignore[assignment]
    id: Annotated[str, Field(description="Under which the log has it.")] = None  # type: ignore[assignment]


class Error(BaseModel):
    model_config = ConfigDict(extra="forbid")

    error: Trouble
