-- When a wait lapses, by the database's clock, and whether its endpoint is active: else its end
-- is the revocation's.
SELECT statement_timestamp(), COALESCE(t.interrupted_at, statement_timestamp()) + w.ttl,
       t.interrupted_at + w.ttl < statement_timestamp(), {{active}}
FROM todos t JOIN endpoints e ON e.id = t.endpoint_id
CROSS JOIN make_interval(secs => %(ttl)s::bigint) w (ttl)
WHERE t.id = %(id)s
