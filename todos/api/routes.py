"""The routes: each is one call of a transition or a selector."""

from collections.abc import Callable
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query

from settings_app import reading
from todos import lease, selectors, transitions
from todos.api import answers, events, parking, schemas
from todos.api.app import api
from todos.api.calls import Credential, call, owner, within
from todos.models import Endpoint, Todo
from todos.verbs import Verb

AttemptsLimit = Annotated[
    int, Query(ge=0, le=1000, description="How many attempts to show at most, newest first.")
]


@api.get("/whoami", auth=Credential(None), response=schemas.Whoami, operation_id="whoami")
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


@api.post(
    "/todos",
    auth=Credential(Verb.CREATE),
    response={201: schemas.Created, 200: schemas.Created},
    operation_id="create",
)
async def create(request: HttpRequest, body: schemas.Create) -> HttpResponse:
    """Put work into a queue."""

    def work(endpoint: Endpoint) -> tuple[Todo, bool]:
        within(endpoint, body.queue)
        return transitions.create(endpoint, **dict(body))

    todo, created = await call(request, work)
    return answers.ok({"todo": answers.todo(todo), "created": created}, 201 if created else 200)


@api.post(
    "/todos/claim_next",
    auth=Credential(Verb.CLAIM),
    response={200: schemas.Claim, 204: None},
    operation_id="claim_next",
)
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


@api.get("/todos/{todo_id}", auth=Credential(Verb.GET), response=schemas.Detail, operation_id="get")
async def get(
    request: HttpRequest, todo_id: str, attempts_limit: AttemptsLimit = 5
) -> HttpResponse:
    """One todo, whole, with its attempts."""
    found = await call(
        request, lambda endpoint: selectors.detail(endpoint, todo_id, attempts=attempts_limit)
    )
    return answers.ok(answers.detail(found))


@api.post(
    "/todos/{todo_id}/complete",
    auth=Credential(Verb.COMPLETE),
    response=schemas.Todo,
    operation_id="complete",
)
async def complete(
    request: HttpRequest,
    todo_id: str,
    body: schemas.Report = schemas.Report(),  # noqa: B008
) -> HttpResponse:
    """End a claimed todo as done."""
    return await _moved(
        request, lambda e: transitions.complete(e, todo_id, owner=owner(e), **dict(body))
    )


@api.get(
    "/events",
    auth=Credential(Verb.EVENTS),
    response={200: None},
    operation_id="events",
    openapi_extra=events.DOCUMENT,
)
async def follow(request: HttpRequest) -> HttpResponse:
    """Follow the endpoint's own todos: a stream of hints, `text/event-stream`."""
    return await events.respond(request)


async def _moved(request: HttpRequest, work: Callable[[Endpoint], Todo]) -> HttpResponse:
    return answers.ok(answers.todo(await call(request, work)))
