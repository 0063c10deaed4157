import os
from typing import Any

from django.core.asgi import get_asgi_application
from django.core.exceptions import ImproperlyConfigured

from switchboard.requests import RequestLog

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "switchboard.settings")
# Each request has a thread of its own here: without a pool it would open a connection of its own
# too, and a burst of requests would use up the server's.
os.environ.setdefault("DATABASE_POOL_SIZE", "10")

try:
    pages = get_asgi_application()
except ImproperlyConfigured as error:
    raise SystemExit(str(error)) from None

from todos.api.asgi import application as api


async def handler(scope: Any, receive: Any, send: Any) -> None:
    """Pages go through Django's middleware, the API past it (docs/architecture.md)."""
    if scope["type"] == "http" and scope["path"].startswith("/api/"):
        await api(scope, receive, send)
    else:
        await pages(scope, receive, send)


application = RequestLog(handler)
