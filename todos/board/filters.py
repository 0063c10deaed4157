"""The filters of a board, as its address names them."""

from collections.abc import Mapping
from urllib.parse import urlencode
from uuid import UUID

from todos import inputs
from todos.board.lanes import Filters
from todos.errors import InvalidInput


def filters_of(query: Mapping[str, str]) -> Filters:
    """Raises InvalidInput, which names the field."""
    endpoint, queue = query.get("endpoint", ""), query.get("queue", "").strip()
    try:
        endpoint_id = UUID(endpoint) if endpoint else None
    except ValueError:
        raise InvalidInput("endpoint", "must be the id of an endpoint") from None
    return Filters(endpoint_id, inputs.queue_name(queue) if queue else None)


def query_of(filters: Filters) -> str:
    named = {"endpoint": filters.endpoint, "queue": filters.queue}
    return urlencode({name: value for name, value in named.items() if value is not None})
