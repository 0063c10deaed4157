-- create: → pending.
-- Guard: the endpoint is active and grants the queue; no other live todo has the key.
-- Lock: the endpoint FOR SHARE, so that a revocation either sees this todo or prevents it.
-- Index: todos_live_key_unique decides about the key.
WITH endpoint AS MATERIALIZED (
    SELECT e.id, {{active}} AS active, %(queue)s = ANY (e.queues) AS granted
    FROM endpoints e
    WHERE e.id = %(endpoint)s::uuid
    FOR SHARE
), made AS (
    INSERT INTO todos AS t (id, endpoint_id, queue, title, kind, source, payload,
                            idempotency_key, assignee, max_attempts)
    SELECT %(id)s, e.id, %(queue)s, %(title)s, %(kind)s, %(source)s, %(payload)s::jsonb,
           %(idempotency_key)s, %(assignee)s, %(max_attempts)s
    FROM endpoint e
    WHERE e.active AND e.granted
    ON CONFLICT (endpoint_id, idempotency_key)
        WHERE idempotency_key IS NOT NULL
          AND (state IN ('pending', 'claimed', 'input-required', 'auth-required')
               OR (next_retry_at IS NOT NULL AND state = 'failed'))
        DO NOTHING
    RETURNING {{todo}}
)
SELECT e.active, e.granted, {{todo}}
FROM endpoint e LEFT JOIN made t ON true
