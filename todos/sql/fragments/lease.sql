-- The one rule that picks a lease: the call's, else the endpoint's, else the server's.
(statement_timestamp() + make_interval(secs => COALESCE(
    %(ttl)s::integer,
    (SELECT e.default_lease_ttl_seconds FROM endpoints e WHERE e.id = t.endpoint_id),
    %(server_ttl)s::integer)))
