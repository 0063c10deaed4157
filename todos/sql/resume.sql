-- resume: input-required or auth-required → claimed, by the same owner; no token needed.
-- The lease stays as it is unless it is to be renewed, which counts as a heartbeat.
WITH {{held}}, written AS (
    UPDATE todos t
    SET state = 'claimed', interrupted_at = NULL,
        result = COALESCE(%(result)s::jsonb, t.result),
        lease_expires_at = CASE WHEN %(renew)s::boolean THEN {{lease}} ELSE t.lease_expires_at END,
        updated_at = statement_timestamp()
    FROM held h
    WHERE t.id = h.id AND h.state IN ('input-required', 'auth-required') AND NOT h.unseen
      AND (%(endpoint)s::uuid IS NULL OR h.owner = %(owner)s)
    RETURNING {{todo}}
), noted AS (
    UPDATE todo_attempts a
    SET last_heartbeat_at = statement_timestamp(), lease_expires_at = t.lease_expires_at
    FROM held h JOIN written t ON true
    WHERE a.id = h.attempt_id AND %(renew)s::boolean
)
SELECT {{found}}, {{todo}}
FROM held h LEFT JOIN written t ON true
