"""The addresses of the API."""

from todos.api import clients, routes  # noqa: F401
from todos.api.app import api

urls = api.urls
