"""The board's page, a todo's panel, and what an operator does there.

The panel is a page of its own, too: the board asks for its inner part and shows it in a dialog.
"""

from functools import partial, wraps
from typing import Any, Protocol

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from settings_app import reading
from todos import selectors
from todos.admin.actions import Operation
from todos.admin.shown import visible
from todos.board import panel
from todos.board.filters import filters_of, query_of
from todos.board.lanes import KINDS, Filters
from todos.board.permissions import may_look, todo_admin
from todos.board.snapshot import take
from todos.errors import InvalidInput, TodoNotFound
from todos.models import Endpoint, Todo

MAX_ENDPOINTS = 200
"""How many endpoints the filter offers; the address takes any."""

PART = "X-Board"
"""The header by which the board asks for a panel's inner part."""

SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class View(Protocol):
    def __call__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse: ...


def for_lookers(view: View) -> View:
    """Behind the admin's login, for those who may look at todos, and without any inline script."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not may_look(request):
            raise PermissionDenied
        response = view(request, *args, **kwargs)
        response.headers["Content-Security-Policy"] = SECURITY_POLICY
        return response

    return admin.site.admin_view(guarded)


@for_lookers
def board(request: HttpRequest) -> HttpResponse:
    refusal = ""
    try:
        filters = filters_of(request.GET)
    except InvalidInput as error:
        filters, refusal = Filters(), f"The filter cannot be used: {error}."
    context: dict[str, Any] = {
        "title": "Board",
        "refusal": refusal,
        "filters": filters,
        "endpoints": _endpoints(filters),
        "queues": selectors.granted_queues(),
        "stream_url": f"{reverse('board:stream')}?{query_of(filters)}",
    }
    if not refusal:
        snapshot = take(filters)
        context |= {
            "snapshot": snapshot,
            "now_ms": snapshot.now.timestamp() * 1_000,
            "retry_ms": reading.sse_retry_ms(),
            "lanes": [
                {
                    "kind": kind,
                    "head": snapshot.heads[kind.name],
                    "cards": [(key, snapshot.cards[key]) for key in snapshot.order[kind.name]],
                }
                for kind in KINDS
            ],
        }
    return _page(request, "todos/board/board.html", context, status=400 if refusal else 200)


def _endpoints(filters: Filters) -> list[tuple[str, str]]:
    """The names and ids of active endpoints, and of the chosen one."""
    rows = Endpoint.objects.filter(revoked_at__isnull=True).order_by("name", "pk")
    offered = {str(key): name for key, name in rows.values_list("pk", "name")[:MAX_ENDPOINTS]}
    if filters.endpoint is not None and (chosen := str(filters.endpoint)) not in offered:
        named = Endpoint.objects.filter(pk=filters.endpoint).values_list("name", flat=True)
        offered[chosen] = named.first() or f"unknown: {chosen}"
    return [(key, visible(name)) for key, name in offered.items()]


@for_lookers
def show(request: HttpRequest, todo_id: str) -> HttpResponse:
    """A todo's panel."""
    todo = _todo(todo_id)
    return _page(request, "todos/board/panel.html", panel.context_of(request, todo))


@for_lookers
def do(request: HttpRequest, todo_id: str, name: str) -> HttpResponse:
    """Asks before an action, and does it: by the admin's operation, with the admin's permission."""
    operation = next((one for one in panel.OPERATIONS if one.name == name), None)
    if operation is None:
        raise Http404
    if not todo_admin().may(request, name):
        raise PermissionDenied
    todo = _todo(todo_id)
    if request.method != "POST":
        return _ask(request, operation, todo, panel.form_of(operation))
    form = panel.form_of(operation, request.POST)
    if form is not None and not form.is_valid():
        return _ask(request, operation, todo, form)
    guard = partial(panel.unmoved, request.POST.get("seen", ""), request.POST.get("was", ""))
    data = form.cleaned_data if form else {}
    report = todo_admin().carry_out(request, operation, [todo.pk], data, guard=guard)
    if report.refused:
        ((_, why),) = report.refused
        messages.error(request, f"Nothing was done: {why}.")
        todo = _todo(todo_id)
        if form is not None and todo.condition in operation.sources:
            # What was typed is not lost, but what it answers is to be read again.
            return _ask(request, operation, todo, form)
    else:
        messages.success(request, f"{operation.done}.")
    return HttpResponseRedirect(reverse("board:panel", args=[todo.pk]))


def _ask(request: HttpRequest, operation: Operation, todo: Todo, form: Any) -> HttpResponse:
    context = panel.context_of(request, todo) | {"operation": operation, "form": form}
    return _page(request, "todos/board/ask.html", context)


def _todo(todo_id: str) -> Todo:
    try:
        return panel.read(todo_id)
    except TodoNotFound:
        raise Http404("There is no such todo.") from None


def _page(
    request: HttpRequest, template: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    part = request.headers.get(PART) == "panel"
    shared = admin.site.each_context(request) | {
        "is_nav_sidebar_enabled": False,
        "is_part": part,
        "media": todo_admin().media,
    }
    request.current_app = admin.site.name
    response = TemplateResponse(request, template, shared | context, status=status)
    if part:
        response.headers[PART] = "panel"
    return response
