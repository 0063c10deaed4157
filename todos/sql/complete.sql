-- complete: claimed → done. Guard: the holder.
WITH {{held}}, closed AS (
    UPDATE todo_attempts a
    SET ended_at = statement_timestamp(), ended_from = h.state, outcome = 'completed',
        disposition = 'done', {{report}}
    FROM held h
    WHERE a.id = h.attempt_id AND h.state = 'claimed' AND {{holder}}
    RETURNING a.todo_id
), written AS (
    UPDATE todos t
    SET state = 'done', result = %(result)s::jsonb, completed_at = statement_timestamp(),
        owner = NULL, lease_expires_at = NULL, interrupted_at = NULL,
        updated_at = statement_timestamp()
    FROM closed c
    WHERE t.id = c.todo_id
    RETURNING {{todo}}
)
SELECT {{found}}, {{todo}}
FROM held h LEFT JOIN written t ON true
