"""Pages of rows that nobody edits, and lists that cost the same however many rows there are."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import InvalidPage, Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from todos.models import StatementTimestamp
from todos.selectors import LISTED, Found

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Model]
else:
    _ModelAdmin = admin.ModelAdmin


class ReadOnlyAdmin(_ModelAdmin):
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    # No list sorts what no index has in order.
    sortable_by = ()

    class Media:
        css: ClassVar = {"all": ["todos/admin.css"]}

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ChoiceFilter(admin.SimpleListFilter):
    """A filter that only hands its value to `BoundedAdmin.find`."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Model]) -> QuerySet[Model]:
        return queryset

    def chosen(self) -> str | None:
        value: str | None = self.value()
        if value is not None and value not in [str(key) for key, _ in self.lookup_choices]:
            raise IncorrectLookupParameters
        return value


class BoundedChangeList(ChangeList):
    """Pages through the ids that one bounded statement found, and counts nothing."""

    found: Found
    order: str

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> Any:
        (self.filter_specs, self.has_filters, rest, _, self.has_active_filters) = self.get_filters(
            request
        )
        if rest:
            raise IncorrectLookupParameters
        chosen = {spec.parameter_name: spec.chosen() for spec in self.filter_specs}  # type: ignore[attr-defined]
        self.found, self.order = self.model_admin.find(search=self.query, **chosen)  # type: ignore[attr-defined]
        return self.root_queryset.filter(pk__in=self.found.ids)

    def get_results(self, request: HttpRequest) -> None:
        paginator: Paginator[Any] = Paginator(self.found.ids, self.list_per_page)
        try:
            ids = paginator.page(self.page_num).object_list
        except InvalidPage:
            raise IncorrectLookupParameters from None
        self.paginator = paginator
        self.result_count = paginator.count
        self.full_result_count = None
        self.show_full_result_count = self.can_show_all = False
        self.multi_page = paginator.num_pages > 1
        self.show_admin_actions = bool(ids)
        self.result_list = self._in_order(ids)

    def _in_order(self, ids: Iterable[Any]) -> Any:
        # A row that is deleted between the two statements is no longer listed.
        rows = self.root_queryset.defer(*self.model_admin.unlisted).in_bulk(list(ids))  # type: ignore[attr-defined]
        return [rows[found] for found in ids if found in rows]

    @property
    def note(self) -> str:
        """What order the rows have, and what is not listed."""
        if not self.found.more:
            return self.order
        return (
            f"{self.order} More match: only the first {LISTED:,} are listed. Narrow the list by a "
            "filter or a search."
        )


class BoundedAdmin(ReadOnlyAdmin):
    """Lists what `find` finds, and no more than that."""

    unlisted: tuple[str, ...] = ()
    """Fields that are too large to be read for a list."""

    list_per_page = 50
    # Shows the box; what is searched is `find`'s.
    search_fields = ("pk",)

    def find(self, *, search: str, **chosen: str | None) -> tuple[Found, str]:
        """The ids of a list, and its order in words."""
        raise NotImplementedError

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[Any]:
        return BoundedChangeList

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.annotate(now=StatementTimestamp())  # type: ignore[no-any-return]
