"""Endpoints in the admin: looked at, vended with a credential that is shown once, revoked."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.cache import patch_cache_control
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.debug import sensitive_variables

from todos import endpoints, inputs, selectors, trial
from todos.admin.actions import ActingAdmin, Affected, Operation
from todos.admin.forms import VendForm
from todos.admin.shown import isolated, stamp, visible
from todos.errors import InvalidInput, TodoConflict, TodoNotFound
from todos.models import Endpoint, StatementTimestamp

ACTIVE, EXPIRED, REVOKED = "active", "expired", "revoked"


def _endpoint(key: str) -> Endpoint:
    rows = Endpoint.objects.annotate(now=StatementTimestamp())
    endpoint = rows.filter(pk=inputs.endpoint_id(key)).first()
    if endpoint is None:
        raise TodoNotFound("endpoint")
    return endpoint


REVOKE = Operation(
    "revoke",
    "Revoke",
    "Revoked",
    lambda key, data: endpoints.revoke(_endpoint(key)),
    (ACTIVE, EXPIRED),
    warning=(
        "Ends the endpoint for good: its credential stops working, its holders' reports are "
        "refused, and its live todos become dead letters. It cannot be undone."
    ),
    # Its mark is a commit of its own, and its todos follow in batches.
    one_commit=False,
)


class StatusFilter(admin.SimpleListFilter):
    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in (ACTIVE, EXPIRED, REVOKED)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Model]) -> QuerySet[Model]:
        expired = Q(revoked_at=None, expires_at__lte=StatementTimestamp())
        match self.value():
            case "active":
                return queryset.filter(revoked_at=None).exclude(expired)
            case "expired":
                return queryset.filter(expired)
            case "revoked":
                return queryset.filter(revoked_at__isnull=False)
        return queryset


class GrantedQueueFilter(admin.SimpleListFilter):
    title = "queue"
    parameter_name = "queue"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in selectors.granted_queues()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Model]) -> QuerySet[Model]:
        value = self.value()
        return queryset if value is None else queryset.filter(queues__contains=[value])


@admin.register(Endpoint)
class EndpointAdmin(ActingAdmin):
    operations = (REVOKE,)
    add_form_template = "admin/todos/endpoint/vend.html"
    change_form_template = "admin/todos/endpoint/change_form.html"
    list_display = ("name_shown", "status", "queues_shown", "owner", "expires", "created")
    list_filter = (StatusFilter, GrantedQueueFilter)
    list_select_related = ("owner",)
    list_per_page = 50
    ordering = ("-created_at", "pk")
    search_fields = ("name", "=id")
    search_help_text = "A part of a name, or a whole id."
    fields = (
        "name_shown",
        "status",
        "id",
        "owner",
        "queues_shown",
        "verbs_shown",
        "live",
        "lease",
        "credential_prefix",
        "created",
        "expires",
        "revoked",
        "finished",
    )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request).defer("credential_hash")
        return rows.annotate(now=StatementTimestamp())  # type: ignore[no-any-return]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.may(request, "vend")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_view_permission(request, obj) or self.may(request, "vend")

    @method_decorator(csrf_protect)
    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        response = self._vend(request)
        # Neither a cache nor the browser's history may show a credential again.
        response["Cache-Control"] = "no-store"
        patch_cache_control(response, private=True)
        return response

    @sensitive_variables()
    def _vend(self, request: HttpRequest) -> HttpResponse:
        name = request.user.get_username()
        form = VendForm(request.POST or None, initial={"owner": name})
        if not form.is_valid():
            return self._page(request, self.add_form_template, "Vend an endpoint", form=form)
        try:
            with transaction.atomic():
                endpoint, credential = endpoints.vend(**form.cleaned_data)
                self.log_addition(request, endpoint, "Vended.")
        except InvalidInput as error:
            form.refuse(error)
            return self._page(request, self.add_form_template, "Vend an endpoint", form=form)
        except TodoConflict:
            return self._page(
                request,
                "admin/todos/endpoint/vended.html",
                "This endpoint was vended before",
                endpoint=_endpoint(str(form.cleaned_data["endpoint_id"])),
                status=409,
            )
        return self._page(
            request,
            "admin/todos/endpoint/vended.html",
            "Endpoint vended",
            endpoint=endpoint,
            credential=credential,
            curl=trial.curl(request.build_absolute_uri("/"), credential),
        )

    def _page(
        self, request: HttpRequest, template: str, title: str, status: int = 200, **context: Any
    ) -> HttpResponse:
        context |= {
            **self.admin_site.each_context(request),
            "title": title,
            "opts": self.opts,
            "media": self.media,
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, template, context, status=status)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        context |= {
            "operations": self.permitted(request, self.status(context["original"])),
            "media": self.media,
            "subtitle": visible(str(context["original"])),
        }
        return super().render_change_form(request, context, *args, **kwargs)

    def affected(self, operation: Operation, keys: list[str]) -> list[Affected]:
        return [self._affected(key) for key in keys]

    def _affected(self, key: str) -> Affected:
        try:
            endpoint = _endpoint(key)
        except TodoNotFound:
            return Affected(key, "", "not found", "", refused=True)
        status = self.status(endpoint)
        note = f"{_number(selectors.live_todos(endpoint.pk))} become dead letters"
        return Affected(
            key, visible(endpoint.name), status, note, bool(endpoint.revocation_finished_at)
        )

    def subject(self, key: str) -> Model:
        endpoint = _endpoint(key)
        if endpoint.revocation_finished_at:
            raise TodoConflict("the endpoint is revoked already")
        return endpoint

    @admin.display(description="Name")
    def name_shown(self, endpoint: Endpoint) -> str:
        return isolated(endpoint.name)

    @admin.display(description="Status")
    def status(self, endpoint: Endpoint) -> str:
        if endpoint.revoked_at:
            return REVOKED
        now = endpoint.now  # type: ignore[attr-defined]
        return EXPIRED if endpoint.expires_at and endpoint.expires_at <= now else ACTIVE

    @admin.display(description="Queues")
    def queues_shown(self, endpoint: Endpoint) -> str:
        return isolated(", ".join(endpoint.queues))

    @admin.display(description="Verbs")
    def verbs_shown(self, endpoint: Endpoint) -> str:
        return ", ".join(endpoint.verbs)

    @admin.display(description="Live todos")
    def live(self, endpoint: Endpoint) -> str:
        return _number(selectors.live_todos(endpoint.pk))

    @admin.display(description="Default lease")
    def lease(self, endpoint: Endpoint) -> str:
        seconds = endpoint.default_lease_ttl_seconds
        return "none of its own" if seconds is None else f"{seconds} s"

    @admin.display(description="Created")
    def created(self, endpoint: Endpoint) -> str:
        return stamp(endpoint.created_at)

    @admin.display(description="Expires")
    def expires(self, endpoint: Endpoint) -> str:
        return stamp(endpoint.expires_at) if endpoint.expires_at else "never"

    @admin.display(description="Revoked")
    def revoked(self, endpoint: Endpoint) -> str:
        return stamp(endpoint.revoked_at)

    @admin.display(description="Revocation finished")
    def finished(self, endpoint: Endpoint) -> str:
        return stamp(endpoint.revocation_finished_at)


def _number(live: int) -> str:
    if live > selectors.COUNTED:
        return f"more than {selectors.COUNTED:,} live todos"
    return "1 live todo" if live == 1 else f"{live} live todos"
