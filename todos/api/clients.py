"""What clients ask: work to be done, an answer, an end."""

from django.http import HttpRequest, HttpResponse

from todos import transitions
from todos.api import answers, schemas
from todos.api.acting import act
from todos.api.app import route
from todos.api.calls import call, owner, within
from todos.api.rates import bucket
from todos.models import Endpoint, Todo
from todos.verbs import Verb

End = schemas.End()


@route("POST", "/todos", Verb.CREATE, {201: schemas.Created, 200: schemas.Created}, 429)
async def create(request: HttpRequest, body: schemas.Create) -> HttpResponse:
    """Put work into a queue: 201, or 200 if a live todo has the `idempotency_key`."""

    def work(endpoint: Endpoint) -> tuple[Todo, bool]:
        within(endpoint, body.queue)
        bucket.take(endpoint)
        return transitions.create(endpoint, **dict(body))

    todo, created = await call(request, work)
    return answers.ok({"todo": answers.todo(todo), "created": created}, 201 if created else 200)


@route("POST", "/todos/{todo_id}/resume", Verb.RESUME, {200: schemas.Todo}, 404, 409)
async def resume(
    request: HttpRequest,
    todo_id: str,
    body: schemas.Resume = schemas.Resume(),  # noqa: B008
) -> HttpResponse:
    """Answer a wait: its holder sees `claimed` and the answer in `result`, and goes on.

    The lease is counted anew, as by a heartbeat right after it.
    """
    todo = await act(
        request,
        "resume",
        todo_id,
        lambda e: transitions.resume(e, todo_id, owner=owner(e), renew_lease=True, **dict(body)),
    )
    return answers.ok(answers.todo(todo))


@route("POST", "/todos/{todo_id}/cancel", Verb.CANCEL, {200: schemas.Todo}, 404, 409)
async def cancel(request: HttpRequest, todo_id: str, body: schemas.End = End) -> HttpResponse:
    """Call off a todo that is not over, whoever holds it."""
    todo = await act(
        request, "cancel", todo_id, lambda e: transitions.cancel(e, todo_id, **dict(body))
    )
    return answers.ok(answers.todo(todo))


@route("POST", "/todos/{todo_id}/reject", Verb.REJECT, {200: schemas.Todo}, 404, 409)
async def reject(request: HttpRequest, todo_id: str, body: schemas.End = End) -> HttpResponse:
    """Refuse a todo that nobody has claimed."""
    todo = await act(
        request, "reject", todo_id, lambda e: transitions.reject(e, todo_id, **dict(body))
    )
    return answers.ok(answers.todo(todo))


@route("POST", "/todos/{todo_id}/retry", Verb.RETRY, {200: schemas.Todo}, 404, 409)
async def retry(
    request: HttpRequest,
    todo_id: str,
    body: schemas.Nothing = schemas.Nothing(),  # noqa: B008
) -> HttpResponse:
    """Bring a failed todo back, its attempts counted anew."""
    todo = await act(request, "retry", todo_id, lambda e: transitions.retry(e, todo_id))
    return answers.ok(answers.todo(todo))
