-- fail: claimed → failed, parked below the cap and a dead letter at it. Guard: the holder.
-- A dead letter is counted in the same commit.
-- Backoff after attempt n: 30 s doubling, at most 15 min.
WITH {{held}}, closed AS (
    UPDATE todo_attempts a
    SET ended_at = statement_timestamp(), ended_from = h.state, outcome = 'failed',
        disposition = CASE WHEN h.attempt >= h.max_attempts
                           THEN 'dead_lettered' ELSE 'retry_scheduled' END,
        {{report}}
    FROM held h
    WHERE a.id = h.attempt_id AND h.state = 'claimed' AND {{holder}}
    RETURNING a.todo_id, a.disposition
), written AS (
    UPDATE todos t
    SET state = 'failed', result = %(result)s::jsonb,
        next_retry_at = CASE WHEN c.disposition = 'retry_scheduled' THEN statement_timestamp()
            + LEAST(900, 30 * 2 ^ LEAST(t.attempt - 1, 5)) * interval '1 second' END,
        completed_at = CASE WHEN c.disposition = 'dead_lettered'
                            THEN statement_timestamp() END,
        owner = NULL, lease_expires_at = NULL, interrupted_at = NULL,
        updated_at = statement_timestamp()
    FROM closed c
    WHERE t.id = c.todo_id
    RETURNING {{todo}}
), counted AS (
    INSERT INTO todo_counters (name, queue, cause, value)
    SELECT 'dead_lettered', t.queue, 'failed', 1 FROM written t WHERE t.next_retry_at IS NULL
)
SELECT {{found}}, {{todo}}
FROM held h LEFT JOIN written t ON true
