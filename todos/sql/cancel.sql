-- cancel: live → canceled, whoever holds it. Lock: the todo, waiting.
WITH {{held}}, closed AS (
    UPDATE todo_attempts a
    SET ended_at = statement_timestamp(), ended_from = h.state, outcome = 'canceled',
        disposition = 'canceled', {{report}}
    FROM held h
    WHERE a.id = h.attempt_id AND h.state IN ('claimed', 'input-required', 'auth-required')
), written AS (
    UPDATE todos t
    SET state = 'canceled', result = %(result)s::jsonb, completed_at = statement_timestamp(),
        owner = NULL, lease_expires_at = NULL, next_retry_at = NULL, interrupted_at = NULL,
        updated_at = statement_timestamp()
    FROM held h
    WHERE t.id = h.id AND NOT h.unseen
      AND (h.state IN ('pending', 'claimed', 'input-required', 'auth-required')
           OR (h.state = 'failed' AND h.next_retry_at IS NOT NULL))
    RETURNING {{todo}}
)
SELECT {{found}}, {{todo}}
FROM held h LEFT JOIN written t ON true
