-- resume: input-required or auth-required → claimed, by the same owner; no token needed.
-- The lease stays as it is unless a new one is asked for, which counts as a heartbeat.
WITH {{held}}, written AS (
    UPDATE todos t
    SET state = 'claimed', interrupted_at = NULL,
        result = COALESCE(%(result)s::jsonb, t.result),
        lease_expires_at = COALESCE(
            statement_timestamp() + make_interval(secs => %(ttl)s::integer), t.lease_expires_at),
        updated_at = statement_timestamp()
    FROM held h
    WHERE t.id = h.id AND h.state IN ('input-required', 'auth-required') AND NOT h.unseen
      AND (%(endpoint)s::uuid IS NULL OR h.owner = %(owner)s)
    RETURNING {{todo}}
), noted AS (
    UPDATE todo_attempts a
    SET last_heartbeat_at = statement_timestamp(), lease_expires_at = t.lease_expires_at
    FROM held h JOIN written t ON true
    WHERE a.id = h.attempt_id AND %(ttl)s::integer IS NOT NULL
)
SELECT {{found}}, {{todo}}
FROM held h LEFT JOIN written t ON true
