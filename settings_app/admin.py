"""The *Settings* page: every known key, its value in effect, and the form that changes it."""

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from psycopg.errors import LockNotAvailable

from settings_app import reading
from settings_app.forms import SettingForm
from settings_app.models import Setting
from settings_app.registry import TUNABLES
from settings_app.values import in_words, quantity, shown

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Setting]
else:
    _ModelAdmin = admin.ModelAdmin

_MAX_UNKNOWN = 20
_TEMPLATES = "admin/settings_app/setting"


@admin.register(Setting)
class SettingAdmin(_ModelAdmin):
    """Lists the registry, not the table: a key without a row has a page and a history as well."""

    form = SettingForm
    actions = None
    readonly_fields = ("what_it_does", "default", "stored_value", "in_effect")

    class Media:
        css: ClassVar = {"all": ["settings_app/settings.css"]}

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Setting | None = None) -> bool:
        return False

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Setting:
        if object_id not in TUNABLES:
            raise Http404("There is no such setting.")
        return Setting.of(object_id)

    def get_fieldsets(self, request: HttpRequest, obj: Setting | None = None) -> Any:
        editable = ("value", "opened_with") if self.has_change_permission(request, obj) else ()
        return [(None, {"fields": (*self.readonly_fields, *editable)})]

    def get_form(
        self, request: HttpRequest, obj: Setting | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        # Not the factory's: it would make `value` a field of the model again.
        return self.form

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        # Rows that nothing reads are shown, since most are a key misspelt in SQL.
        unknown = list(Setting.objects.exclude(pk__in=TUNABLES).order_by("pk")[: _MAX_UNKNOWN + 1])
        context = {
            **self.admin_site.each_context(request),
            "title": "Settings",
            "opts": self.opts,
            "media": self.media,
            "reports": reading.report_all(),
            "unknown": [(shown(row.key), shown(row.value)) for row in unknown[:_MAX_UNKNOWN]],
            "more_unknown": len(unknown) > _MAX_UNKNOWN,
            **(extra_context or {}),
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, f"{_TEMPLATES}/change_list.html", context)

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().changeform_view(request, *args, **kwargs)
        except IntegrityError:
            # Another's first row for this key came between the form's look and its insert, and
            # nothing was there to be locked. On a second pass the form sees that row.
            return super().changeform_view(request, *args, **kwargs)
        except OperationalError as error:
            if not isinstance(error.__cause__, LockNotAvailable):
                raise
            self.message_user(
                request,
                "Not saved: another database session keeps this setting locked. Try again; if "
                "that does not help, look for a transaction that somebody left open.",
                messages.ERROR,
            )
            return HttpResponseRedirect(request.path)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        form: SettingForm = context["adminform"].form
        alone = request.POST.get("_preview") == "alone"
        asked = form.is_bound and not form.errors and not form.previewing
        context |= {"form": form, "effect": form.effect, "alone": alone}
        if asked:
            context["title"] = "Save this change?"
        response = super().render_change_form(request, context, *args, **kwargs)
        if isinstance(response, TemplateResponse) and (alone or asked):
            name = "effect" if alone else "confirm"
            response.template_name = f"{_TEMPLATES}/{name}.html"
        return response

    def save_model(self, request: HttpRequest, obj: Setting, form: Any, change: bool) -> None:
        form.apply()
        # The admin writes a message's first letter as a capital: it cannot be the key's.
        done = f"Saved {obj.key}. {form.change}." if form.change else f"No change of {obj.key}."
        if form.change and form.effect and form.effect.asks:
            done += f" {form.effect.summary}"
        self.message_user(request, done)

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> Any:
        return form.change

    def log_change(self, request: HttpRequest, obj: Setting, message: Any) -> Any:
        # A save that changed nothing is no history.
        return super().log_change(request, obj, message) if message else None

    def response_change(self, request: HttpRequest, obj: Setting) -> HttpResponse:
        if "_continue" in request.POST:
            return HttpResponseRedirect(request.path)
        return self.response_post_save_change(request, obj)

    @admin.display(description="What it does")
    def what_it_does(self, obj: Setting) -> str:
        return TUNABLES[obj.key].help

    @admin.display(description="Default")
    def default(self, obj: Setting) -> str:
        tunable = TUNABLES[obj.key]
        return quantity(tunable.default, tunable.unit)

    @admin.display(description="Stored value")
    def stored_value(self, obj: Setting) -> str:
        return "—" if obj.stored is None else shown(obj.stored)

    @admin.display(description="In effect now")
    def in_effect(self, obj: Setting) -> str:
        return in_words(TUNABLES[obj.key], obj.stored)
