"""What workers ask: each route is one call of a transition or a selector."""

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja.params import functions

from settings_app import reading
from todos import lease, selectors, transitions
from todos.api import answers, events, parking, schemas
from todos.api.acting import act
from todos.api.app import route
from todos.api.calls import call, owner, within
from todos.errors import InvalidInput
from todos.models import Endpoint, Todo
from todos.states import State
from todos.verbs import Verb

AttemptsLimit = Annotated[
    int,
    functions.Query(ge=0, le=1000, description="How many attempts to show at most, newest first."),
]
PageSize = Annotated[int, functions.Query(ge=1, le=200)]
QueueName = Annotated[
    schemas.Name | None, functions.Query(description="Only of this queue.", examples=["inbox"])
]
StateName = Annotated[State | None, functions.Query(description="Only in this state.")]
Cursor = Annotated[
    str | None,
    functions.Query(
        pattern="^td_[0-9a-f-]{36}$",
        description="`next_cursor` of the page before; without one, the first page.",
    ),
]
Heartbeat = schemas.Heartbeat()
Report = schemas.Report()


@route("GET", "/whoami", None, {200: schemas.Whoami}, name="whoami")
async def whoami(request: HttpRequest) -> HttpResponse:
    """The endpoint of the credential: what it may do, and the numbers that count for it."""
    return answers.ok(await call(request, _whoami))


def _whoami(endpoint: Endpoint) -> dict[str, Any]:
    ttl = reading.interrupt_lease_ttl()
    return {
        "id": endpoint.pk,
        "name": endpoint.name,
        "owner": owner(endpoint),
        "queues": endpoint.queues,
        "verbs": endpoint.verbs,
        "created_at": endpoint.created_at,
        "expires_at": endpoint.expires_at,
        "lease": {
            "default_seconds": endpoint.default_lease_ttl_seconds or lease.SERVER_DEFAULT,
            "max_seconds": lease.MAX_TTL,
        },
        "interrupt_lease_ttl_seconds": None if ttl is None else int(ttl.total_seconds()),
    }


@route("GET", "/todos", Verb.LIST, {200: schemas.Page})
async def list_todos(
    request: HttpRequest,
    queue: QueueName = None,
    state: StateName = None,
    limit: PageSize = 50,
    cursor: Cursor = None,
) -> HttpResponse:
    """The todos of the endpoint, newest first, without their documents."""
    _only(request, "queue", "state", "limit", "cursor")

    def work(endpoint: Endpoint) -> tuple[list[Todo], bool]:
        within(endpoint, *[queue] if queue is not None else [])
        return selectors.newest(endpoint, queue=queue, state=state, below=cursor, limit=limit)

    todos, more = await call(request, work)
    page = {
        "todos": [answers.listed(todo) for todo in todos],
        "next_cursor": todos[-1].pk if more else None,
    }
    return answers.ok(page)


# Before the next one, which would take its name for an id.
@route("POST", "/todos/claim_next", Verb.CLAIM, {200: schemas.Claim, 204: None}, name="claim_next")
async def claim_next(
    request: HttpRequest,
    body: schemas.TakeNext = schemas.TakeNext(),  # noqa: B008
) -> HttpResponse:
    """Take the oldest claimable todo; 204 if there is none, nor comes within `wait_seconds`."""
    given = dict(body)
    seconds = given.pop("wait_seconds")

    def work(endpoint: Endpoint) -> parking.Try:
        within(endpoint, *body.queues or ())
        claim = transitions.claim_next(endpoint, owner=owner(endpoint), **given)
        if claim is not None or not seconds:
            return parking.Try(claim)
        places = frozenset((str(endpoint.pk), queue) for queue in body.queues or endpoint.queues)
        return parking.Try(None, places, events.expires_in(endpoint))

    if seconds:
        claim = await parking.lot().claim(lambda: call(request, work), seconds)
    else:
        claim = (await call(request, work)).claim
    return HttpResponse(status=204) if claim is None else answers.ok(answers.claim(claim))


@route("GET", "/todos/{todo_id}", Verb.GET, {200: schemas.Detail}, 404)
async def get(
    request: HttpRequest, todo_id: str, attempts_limit: AttemptsLimit = 5
) -> HttpResponse:
    """One todo, whole, with its attempts."""
    _only(request, "attempts_limit")
    found = await call(
        request, lambda endpoint: selectors.detail(endpoint, todo_id, attempts=attempts_limit)
    )
    return answers.ok(answers.detail(found))


def _only(request: HttpRequest, *known: str) -> None:
    """A parameter with a slip in its name must not mean everything."""
    for name in request.GET:
        if name not in known:
            raise InvalidInput(answers.repeatable(name), "is not a parameter of this request")


@route("POST", "/todos/{todo_id}/claim", Verb.CLAIM, {200: schemas.Claim}, 404, 409)
async def claim(
    request: HttpRequest,
    todo_id: str,
    body: schemas.Take = schemas.Take(),  # noqa: B008
) -> HttpResponse:
    """Take this todo: pending, due for its retry, or with a lapsed lease below the cap."""
    claim = await act(
        request,
        "claim",
        todo_id,
        lambda e: transitions.claim(e, todo_id, owner=owner(e), **dict(body)),
    )
    return answers.ok(answers.claim(claim))


@route("POST", "/todos/{todo_id}/heartbeat", Verb.HEARTBEAT, {200: schemas.Todo}, 404, 409)
async def heartbeat(
    request: HttpRequest, todo_id: str, body: schemas.Heartbeat = Heartbeat
) -> HttpResponse:
    """Count the lease anew. While it waits for an answer a todo has no heartbeat."""
    todo = await act(
        request,
        "heartbeat",
        todo_id,
        lambda e: transitions.heartbeat(e, todo_id, owner=owner(e), **dict(body)),
        body.lease_token,
    )
    return answers.ok(answers.todo(todo))


@route("POST", "/todos/{todo_id}/complete", Verb.COMPLETE, {200: schemas.Todo}, 404, 409)
async def complete(
    request: HttpRequest, todo_id: str, body: schemas.Report = Report
) -> HttpResponse:
    """End a claimed todo as done."""
    todo = await act(
        request,
        "complete",
        todo_id,
        lambda e: transitions.complete(e, todo_id, owner=owner(e), **dict(body)),
        body.lease_token,
    )
    return answers.ok(answers.todo(todo))


@route("POST", "/todos/{todo_id}/fail", Verb.FAIL, {200: schemas.Todo}, 404, 409)
async def fail(request: HttpRequest, todo_id: str, body: schemas.Report = Report) -> HttpResponse:
    """End the attempt as failed: tried again after a while, or, at the cap, a dead letter."""
    todo = await act(
        request,
        "fail",
        todo_id,
        lambda e: transitions.fail(e, todo_id, owner=owner(e), **dict(body)),
        body.lease_token,
    )
    return answers.ok(answers.todo(todo))


@route("POST", "/todos/{todo_id}/release", Verb.RELEASE, {200: schemas.Todo}, 404, 409)
async def release(
    request: HttpRequest,
    todo_id: str,
    body: schemas.Release = schemas.Release(),  # noqa: B008
) -> HttpResponse:
    """Put a claimed todo back for another worker; its attempt stays used."""
    todo = await act(
        request,
        "release",
        todo_id,
        lambda e: transitions.release(e, todo_id, owner=owner(e), **dict(body)),
        body.lease_token,
    )
    return answers.ok(answers.todo(todo))


@route("POST", "/todos/{todo_id}/interrupt", Verb.INTERRUPT, {200: schemas.Todo}, 404, 409)
async def interrupt(request: HttpRequest, todo_id: str, body: schemas.Interrupt) -> HttpResponse:
    """Ask, and wait for an answer while keeping the todo.

    If nobody answers within `interrupt_lease_ttl_seconds`, the todo goes back to the queue.
    """
    todo = await act(
        request,
        "interrupt",
        todo_id,
        lambda e: transitions.interrupt(e, todo_id, owner=owner(e), **dict(body)),
        body.lease_token,
    )
    return answers.ok(answers.todo(todo))


@route("GET", "/events", Verb.EVENTS, {200: None}, 429, extra=events.DOCUMENT)
async def follow(request: HttpRequest) -> HttpResponse:
    """Follow the endpoint's own todos: a stream of hints, `text/event-stream`.

    Each event `todo` holds `id`, `queue`, `state` and `reason`; `resync` says that hints were
    missed, so read the truth again. After 15 s without an event a comment shows that it lives.
    """
    return await events.respond(request)
