"""Who may look and act: as the admin of todos says."""

from typing import cast

from django.contrib import admin
from django.http import HttpRequest

from todos.admin import TodoAdmin
from todos.models import Todo


def todo_admin() -> TodoAdmin:
    return cast(TodoAdmin, admin.site.get_model_admin(Todo))


def may_look(request: HttpRequest) -> bool:
    return todo_admin().has_view_permission(request)
