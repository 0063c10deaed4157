-- revoke endpoint: live → failed, a dead letter. The todos are locked, and found live, already.
-- Live is said in the negative: with the words of live.sql, todos_live_idx would look better than
-- the primary key under old statistics.
WITH closed AS (
    UPDATE todo_attempts a
    SET ended_at = statement_timestamp(), ended_from = t.state, outcome = 'revoked',
        disposition = 'dead_lettered'
    FROM todos t
    WHERE t.id = ANY (%(ids)s::text[]) AND a.todo_id = t.id AND a.ended_at IS NULL
), written AS (
    UPDATE todos t
    SET state = 'failed',
        result = CASE WHEN e.expires_at <= e.revoked_at
            THEN jsonb_build_object('error', 'endpoint_expired', 'detail', concat(
                'endpoint ', e.name, ' expired at ',
                to_char(e.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')))
            ELSE jsonb_build_object('error', 'endpoint_revoked', 'detail', concat(
                'endpoint ', e.name, ' was revoked at ',
                to_char(e.revoked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')))
            END,
        completed_at = statement_timestamp(), owner = NULL, lease_expires_at = NULL,
        next_retry_at = NULL, interrupted_at = NULL, updated_at = statement_timestamp()
    FROM endpoints e
    WHERE t.id = ANY (%(ids)s::text[]) AND e.id = t.endpoint_id
      AND t.state NOT IN ('done', 'canceled', 'rejected')
      AND (t.state <> 'failed' OR t.next_retry_at IS NOT NULL)
    RETURNING {{todo}}
), counted AS (
    INSERT INTO todo_counters (name, queue, cause, value)
    SELECT 'dead_lettered', t.queue, t.result ->> 'error', count(*)
    FROM written t
    GROUP BY t.queue, t.result ->> 'error'
)
SELECT t.id, {{todo_light}}
FROM written t
