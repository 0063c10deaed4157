"""Todos, endpoints and attempts in the admin: to look at."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from todos.models import Attempt, Endpoint, Todo


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Endpoint)
class EndpointAdmin(ReadOnlyAdmin):
    list_display = ("name", "id", "queues", "owner", "expires_at", "revoked_at")
    list_select_related = ("owner",)
    exclude = ("credential_hash",)
    search_fields = ("name", "=id")


@admin.register(Todo)
class TodoAdmin(ReadOnlyAdmin):
    list_display = ("id", "title", "queue", "condition", "owner", "interrupted_at", "created_at")
    list_filter = ("state",)
    search_fields = ("id", "title")
    ordering = ("-created_at",)


@admin.register(Attempt)
class AttemptAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "owner", "claimed_at", "ended_at", "outcome", "disposition", "died")
    list_filter = ("outcome",)
    exclude = ("lease_token_hash",)
    search_fields = ("todo__id",)
    ordering = ("-id",)

    @admin.display(boolean=True)
    def died(self, attempt: Attempt) -> bool:
        return attempt.died
