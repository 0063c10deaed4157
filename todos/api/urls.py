"""The addresses of the API."""

from todos.api import routes  # noqa: F401
from todos.api.app import api

urls = api.urls
