"""Operations on selected rows: a list's actions and the buttons of a page, with a confirmation.

Whoever may look has none of them: each needs a permission of its own, for showing and for doing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, transaction
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.http import url_has_allowed_host_and_scheme

from todos.admin.lists import ReadOnlyAdmin
from todos.errors import SwitchboardError, first_line

MAX_SELECTED = 100
"""How many rows one request changes at most: it must end in time, and be readable before."""

_REFUSALS_SHOWN = 10


@dataclass(frozen=True)
class Operation:
    """One transition that an operator may call for each selected row."""

    name: str
    """Also the first part of its permission, and of its URL."""
    label: str
    done: str
    """What the log says was done, and the report, as in `Canceled 3 todos`."""
    run: Callable[[str, dict[str, Any]], Model]
    sources: tuple[str, ...]
    """The conditions in which a row can take it; the database has the last word."""
    warning: str = ""
    """What it takes away. It is asked about before."""
    form: type[forms.Form] | None = None
    one_commit: bool = True
    """Whether it can share a transaction with its log entry; else the entry comes first."""

    @property
    def asks(self) -> bool:
        return bool(self.warning or self.form)


@dataclass
class Report:
    done: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Affected:
    """One row of a confirmation."""

    key: str
    name: str
    condition: str
    note: str
    refused: bool


class ActingAdmin(ReadOnlyAdmin):
    operations: tuple[Operation, ...] = ()

    def affected(self, operation: Operation, keys: list[str]) -> list[Affected]:
        """The rows as they are now, for the confirmation."""
        raise NotImplementedError

    def subject(self, key: str) -> Model:
        """The row that an entry of the log is about. Raises TodoNotFound."""
        raise NotImplementedError

    def may(self, request: HttpRequest, name: str) -> bool:
        return request.user.has_perm(f"{self.opts.app_label}.{name}_{self.opts.model_name}")

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # Whoever may act must see on what.
        return super().has_view_permission(request, obj) or any(
            self.may(request, operation.name) for operation in self.operations
        )

    def permitted(self, request: HttpRequest, condition: str) -> list[Operation]:
        """The buttons for a row in this condition."""
        return [
            operation
            for operation in self.operations
            if condition in operation.sources and self.may(request, operation.name)
        ]

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        return {
            operation.name: (partial(_from_list, operation), operation.name, operation.label)
            for operation in self.operations
            if self.may(request, operation.name)
        }

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}_do"
        view = self.admin_site.admin_view(self.do_view)
        return [path("do/<slug:name>/", view, name=name), *super().get_urls()]

    def do_view(self, request: HttpRequest, name: str) -> HttpResponse:
        """A button of a row's page, or the answer to a confirmation."""
        operation = next((one for one in self.operations if one.name == name), None)
        if operation is None:
            raise Http404
        if not self.may(request, name):
            raise PermissionDenied
        if request.method != "POST":
            return HttpResponseRedirect(self._list_url())
        back = self._back(request)
        return self.operate(request, operation, request.POST.getlist("id"), back)

    def operate(
        self, request: HttpRequest, operation: Operation, selected: Sequence[str], back: str
    ) -> HttpResponse:
        """Ask first where it has to be asked, then do it; `back` is where the report is read."""
        keys = list(dict.fromkeys(selected))
        if not 0 < len(keys) <= MAX_SELECTED:
            self.message_user(
                request, f"Select 1 to {MAX_SELECTED} of them. Nothing was done.", messages.ERROR
            )
            return HttpResponseRedirect(back)
        confirmed = "confirmed" in request.POST
        form = operation.form(request.POST if confirmed else None) if operation.form else None
        if operation.asks and not (confirmed and (form is None or form.is_valid())):
            return self._ask(request, operation, keys, form, back)
        data = form.cleaned_data if form else {}
        self._tell(request, operation, self.carry_out(request, operation, keys, data))
        return HttpResponseRedirect(back)

    def _ask(
        self,
        request: HttpRequest,
        operation: Operation,
        keys: list[str],
        form: forms.Form | None,
        back: str,
    ) -> HttpResponse:
        rows = self.affected(operation, keys)
        name = f"{self.opts.app_label}_{self.opts.model_name}_do"
        context = {
            **self.admin_site.each_context(request),
            "title": f"{operation.label}: {self._count(len(keys))}",
            "opts": self.opts,
            "media": self.media,
            "operation": operation,
            "action_url": reverse(f"{self.admin_site.name}:{name}", args=[operation.name]),
            "rows": rows,
            "refused": sum(row.refused for row in rows),
            "form": form,
            "back": back,
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, "admin/todos/confirm.html", context)

    def carry_out(
        self,
        request: HttpRequest,
        operation: Operation,
        keys: list[str],
        data: dict[str, Any],
        guard: Callable[[str], None] | None = None,
    ) -> Report:
        """Do it to each row, with its entry in the log, and say what was refused and why.

        `guard` may refuse a row by a SwitchboardError, in the transaction that would change it.
        """
        report = Report()
        for key in keys:
            try:
                if operation.one_commit:
                    with transaction.atomic():
                        if guard is not None:
                            guard(key)
                        self.log_change(request, operation.run(key, data), f"{operation.done}.")
                else:
                    self.log_change(request, self.subject(key), f"{operation.done}.")
                    operation.run(key, data)
                report.done += 1
            except SwitchboardError as error:
                report.refused.append((key, str(error)))
            except DatabaseError as error:
                report.refused.append((key, f"the database refused: {first_line(error)}"))
        return report

    def _tell(self, request: HttpRequest, operation: Operation, report: Report) -> None:
        if report.done:
            done = f"{operation.done} {self._count(report.done)}."
            self.message_user(request, done, messages.SUCCESS)
        if report.refused:
            shown = [f"{key[:60]}: {why}" for key, why in report.refused[:_REFUSALS_SHOWN]]
            more = len(report.refused) - len(shown)
            lines = "; ".join(shown) + (f"; and {more} more" if more else "")
            self.message_user(
                request, f"Refused {self._count(len(report.refused))}: {lines}.", messages.WARNING
            )

    def _count(self, number: int) -> str:
        names = self.opts.verbose_name if number == 1 else self.opts.verbose_name_plural
        return f"{number} {names}"

    def _back(self, request: HttpRequest) -> str:
        given = request.POST.get("back", "")
        ours = url_has_allowed_host_and_scheme(
            given, allowed_hosts={request.get_host()}, require_https=request.is_secure()
        )
        return given if ours else self._list_url()

    def _list_url(self) -> str:
        name = f"{self.opts.app_label}_{self.opts.model_name}_changelist"
        return reverse(f"{self.admin_site.name}:{name}")


def _from_list(
    operation: Operation, model_admin: ActingAdmin, request: HttpRequest, queryset: object
) -> HttpResponse:
    # Not the queryset: a row that has left the filter since the page was shown is to be reported,
    # not passed over in silence.
    selected = request.POST.getlist(ACTION_CHECKBOX_NAME)
    return model_admin.operate(request, operation, selected, request.get_full_path())
