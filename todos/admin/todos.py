"""Todos in the admin: lists, a todo's page with its wait and its ledger, the operators' actions."""

from typing import Any, cast

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html

from todos import inputs, selectors
from todos.admin import panels
from todos.admin.actions import ActingAdmin, Affected, Operation
from todos.admin.lists import BoundedAdmin, ChoiceFilter
from todos.admin.operations import OPERATIONS
from todos.admin.shown import (
    document,
    isolated,
    relative,
    shortened,
    span,
    stamp,
    visible,
    whole_document,
)
from todos.errors import TodoNotFound
from todos.models import Todo
from todos.selectors import Found
from todos.states import DEAD, INTERRUPT_STATES, PARKED, State

_CONDITIONS = {
    selectors.WAITING: "waiting (either kind)",
    selectors.PARKED: PARKED,
    selectors.DEAD: DEAD,
}
_AMONG = f"among the {selectors.LOOKED_THROUGH:,}"
_SOONEST = f"the {selectors.LOOKED_THROUGH:,} claimed ones whose lease lapses first"
_ORDERS = {
    State.PENDING: "Oldest first.",
    State.CLAIMED: "The lease that lapses first, or has lapsed, first.",
    selectors.WAITING: "Longest waiting first.",
    State.INPUT_REQUIRED: f"Longest waiting first, {_AMONG} that wait longest.",
    State.AUTH_REQUIRED: f"Longest waiting first, {_AMONG} that wait longest.",
    selectors.PARKED: "The next to be retried first.",
    selectors.DEAD: "Latest dead letter first.",
    State.DONE: f"Last completed first, {_AMONG} todos that ended last.",
}
_NEWEST_FAILED = f"Newest first, {_AMONG} newest failed todos of the queue."
_QUEUE_ORDERS: dict[str | None, str] = {
    None: f"Newest first; of claimed todos only those among {_SOONEST}, in whatever queue.",
    State.CLAIMED: f"{_ORDERS[State.CLAIMED]} Only those among {_SOONEST}, in whatever queue.",
    **dict.fromkeys(selectors.OLDEST_FIRST, "Oldest todo first."),
    **dict.fromkeys((selectors.PARKED, selectors.DEAD), _NEWEST_FAILED),
}


class StateFilter(ChoiceFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(name), _CONDITIONS.get(name, str(name))) for name in selectors.CONDITIONS]


class QueueFilter(ChoiceFilter):
    title = "queue"
    parameter_name = "queue"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = selectors.granted_queues()
        # Beyond the bound of the list a queue is still reached by its name in the address.
        if (chosen := self.value()) and chosen not in names and chosen.isprintable():
            names.append(chosen)
        return [(name, name) for name in names]


@admin.register(Todo)
class TodoAdmin(ActingAdmin, BoundedAdmin):
    operations = OPERATIONS
    change_form_template = "admin/todos/todo/change_form.html"
    list_display = ("title_and_id", "condition", "clock", "tries", "queue_shown", "holder_short")
    list_filter = (StateFilter, QueueFilter)
    search_help_text = (
        "The beginning of an id or of a title; any part of a title among the "
        f"{selectors.LOOKED_THROUGH:,} newest todos and {_SOONEST}. "
        "The titles of other claimed todos are not searched."
    )
    unlisted = ("payload", "result")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "title_shown",
                    "condition",
                    "queue_shown",
                    "endpoint",
                    "holder",
                    "tries",
                    "clock",
                )
            },
        ),
        ("Documents", {"fields": ("result_shown", "payload_shown")}),
        (
            "More",
            {
                "fields": (
                    "id",
                    "kind_shown",
                    "source_shown",
                    "assignee_shown",
                    "key_shown",
                    "attempts_total",
                    "attempts_pruned",
                    "created",
                    "updated",
                    "claimed",
                    "lease",
                    "completed",
                )
            },
        ),
    )

    def find(self, *, search: str, **chosen: str | None) -> tuple[Found, str]:
        condition, queue = chosen.get("state"), chosen.get("queue")
        found = selectors.find_todos(search=search, condition=condition, queue=queue)
        orders: dict[Any, str] = {} if search else _QUEUE_ORDERS if queue else _ORDERS
        return found, orders.get(condition, "Newest first.")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return [name for _, options in self.fieldsets for name in options["fields"]]

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Todo | None:
        try:
            return cast(Todo | None, super().get_object(request, inputs.todo_id(object_id)))
        except TodoNotFound:
            return None

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.document_view)
        route = "<path:object_id>/document/<slug:field>/"
        return [path(route, view, name="todos_todo_document"), *super().get_urls()]

    def document_view(self, request: HttpRequest, object_id: str, field: str) -> HttpResponse:
        """All of a payload or a result, as inert text."""
        todo = self.get_object(request, object_id)
        if not self.has_view_permission(request):
            raise PermissionDenied
        if todo is None or field not in self.unlisted:
            raise Http404
        return HttpResponse(
            whole_document(getattr(todo, field)),
            content_type="text/plain; charset=utf-8",
            headers={"Content-Security-Policy": "default-src 'none'; sandbox"},
        )

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        todo = cast(Todo, context["original"])
        context |= {
            "operations": self.permitted(request, todo.condition),
            "wait": panels.wait(todo) if todo.state in INTERRUPT_STATES else None,
            "ledger": panels.ledger(todo),
            "ledger_shown": panels.LEDGER_SHOWN,
            "media": self.media,
            "subtitle": visible(str(todo)),
        }
        return super().render_change_form(request, context, *args, **kwargs)

    def affected(self, operation: Operation, keys: list[str]) -> list[Affected]:
        readable = [key for key in keys if key.isprintable()]
        rows = Todo.objects.defer(*self.unlisted).in_bulk(readable)
        return [_affected(operation, key, rows.get(key)) for key in keys]

    @admin.display(description="Todo")
    def title_and_id(self, todo: Todo) -> str:
        # The id keeps a title of spaces from being a link that nobody can hit.
        return format_html('{}<br><span class="key">{}</span>', isolated(todo.title), todo.pk)

    @admin.display(description="Held by")
    def holder_short(self, todo: Todo) -> str:
        return "—" if todo.owner is None else isolated(shortened(todo.owner, 20))

    @admin.display(description="Title")
    def title_shown(self, todo: Todo) -> str:
        return isolated(todo.title)

    @admin.display(description="Queue")
    def queue_shown(self, todo: Todo) -> str:
        return isolated(todo.queue)

    @admin.display(description="State")
    def condition(self, todo: Todo) -> str:
        return todo.condition

    @admin.display(description="Held by")
    def holder(self, todo: Todo) -> str:
        return "—" if todo.owner is None else isolated(todo.owner)

    @admin.display(description="Attempt")
    def tries(self, todo: Todo) -> str:
        return f"{todo.attempt} of {todo.max_attempts}"

    @admin.display(description="Clock")
    def clock(self, todo: Todo) -> str:
        """The one clock that matters in this state, by the database's."""
        now = cast(Any, todo).now
        if todo.state == State.PENDING:
            return f"created {span(now - todo.created_at)} ago"
        if todo.state == State.CLAIMED and todo.lease_expires_at:
            lapsed = todo.lease_expires_at <= now
            return (
                f"lease {'lapsed' if lapsed else 'lapses'} {relative(todo.lease_expires_at, now)}"
            )
        if todo.state in INTERRUPT_STATES:
            return f"waits {span(now - todo.interrupted_at)}" if todo.interrupted_at else "waits"
        if todo.next_retry_at:
            verb = "due" if todo.next_retry_at <= now else "comes"
            return f"retry {verb} {relative(todo.next_retry_at, now)}"
        return f"ended {span(now - todo.completed_at)} ago" if todo.completed_at else "—"

    @admin.display(description="Result")
    def result_shown(self, todo: Todo) -> str:
        return self._document(todo, "result")

    @admin.display(description="Payload")
    def payload_shown(self, todo: Todo) -> str:
        return self._document(todo, "payload")

    def _document(self, todo: Todo, field: str) -> str:
        value = getattr(todo, field)
        if value is None:
            return "—"
        text, cut = document(value)
        url = reverse("admin:todos_todo_document", args=[todo.pk, field])
        more = format_html(' <a href="{}">Cut: show all of it</a>', url) if cut else ""
        return format_html('<pre class="document" tabindex="0">{}</pre>{}', text, more)

    @admin.display(description="Kind")
    def kind_shown(self, todo: Todo) -> str:
        return isolated(todo.kind or "—")

    @admin.display(description="Source")
    def source_shown(self, todo: Todo) -> str:
        return isolated(todo.source or "—")

    @admin.display(description="Assignee")
    def assignee_shown(self, todo: Todo) -> str:
        return isolated(todo.assignee or "—")

    @admin.display(description="Idempotency key")
    def key_shown(self, todo: Todo) -> str:
        return isolated(todo.idempotency_key or "—")

    @admin.display(description="Created")
    def created(self, todo: Todo) -> str:
        return stamp(todo.created_at)

    @admin.display(description="Updated")
    def updated(self, todo: Todo) -> str:
        return stamp(todo.updated_at)

    @admin.display(description="Claimed")
    def claimed(self, todo: Todo) -> str:
        return stamp(todo.claimed_at)

    @admin.display(description="Lease until")
    def lease(self, todo: Todo) -> str:
        return stamp(todo.lease_expires_at)

    @admin.display(description="Ended")
    def completed(self, todo: Todo) -> str:
        return stamp(todo.completed_at)


def _affected(operation: Operation, key: str, todo: Todo | None) -> Affected:
    if todo is None:
        return Affected(key, "", "not found", "", refused=True)
    held = "" if todo.owner is None else f"held by {visible(todo.owner)}"
    refused = todo.condition not in operation.sources
    return Affected(key, visible(todo.title), todo.condition, held, refused)
