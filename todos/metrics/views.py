"""The page `/metrics`."""

import hmac

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, generate_latest

from todos.metrics.collectors import registry


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Everything in the text format, for whoever presents the bearer token; without one: closed."""
    token: str = settings.METRICS_TOKEN
    if not token:
        return HttpResponse("metrics are closed: no token is configured\n", status=403)
    presented = request.headers.get("Authorization", "")
    if not hmac.compare_digest(presented.encode(), f"Bearer {token}".encode()):
        refusal = HttpResponse("metrics need their bearer token\n", status=401)
        refusal["WWW-Authenticate"] = "Bearer"
        return refusal
    body = generate_latest(registry) + generate_latest(REGISTRY)
    return HttpResponse(body, content_type=CONTENT_TYPE_LATEST)
