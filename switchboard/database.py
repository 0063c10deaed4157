"""The one place that turns DATABASE_URL into Django's connection settings."""

from typing import Any

# PostgreSQL plans an OLTP statement in a fraction of a millisecond; compiling one takes tens.
STARTUP_OPTIONS = "-c jit=off"

# A statement is prepared on its second run on a connection: a one-off costs no extra round trip,
# and what repeats (a sweep's batches, claims) is planned a handful of times and then no more.
PREPARE_THRESHOLD = 1

# A peer that vanished without a word (a failover, a dropped NAT entry) is noticed within a minute
# and not after the two hours of most systems. All of these are ignored on a unix socket.
KEEPALIVES = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}


def settings(parts: dict[str, str], *, pooler: str, pool_size: int) -> dict[str, Any]:
    """What the connection string says itself always wins over the defaults here."""
    rest = dict(parts)
    name, user = rest.pop("dbname", ""), rest.pop("user", "")
    password, host, port = rest.pop("password", ""), rest.pop("host", ""), rest.pop("port", "")
    own_options = rest.pop("options", "")
    options: dict[str, Any] = {
        "application_name": "switchboard",
        "connect_timeout": 10,
        **KEEPALIVES,
        **rest,
        "server_side_binding": True,
        "prepare_threshold": PREPARE_THRESHOLD,
        "options": f"{STARTUP_OPTIONS} {own_options}".strip(),
    }
    database: dict[str, Any] = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": user,
        "PASSWORD": password,
        "HOST": host,
        "PORT": port,
        # Kept connections would leak under ASGI, where each request has a thread of its own, and
        # the worker closes its connection after each task anyway. The pool keeps what is kept.
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": options,
    }
    if pool_size:
        options["pool"] = {"min_size": min(2, pool_size), "max_size": pool_size, "timeout": 10}
    if pooler == "transaction":
        _without_session_state(database, own_options)
    return database


def _without_session_state(database: dict[str, Any], own_options: str) -> None:
    """Consecutive transactions may run on different server connections: nothing may outlive one."""
    options = database["OPTIONS"]
    options["prepare_threshold"] = None
    if own_options:
        options["options"] = own_options
    else:
        del options["options"]
    database["DISABLE_SERVER_SIDE_CURSORS"] = True
