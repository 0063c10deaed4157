-- Parked retries whose time has come, the longest due first.
-- Endpoints as in due_leases.sql.
due AS MATERIALIZED (
    SELECT t.id
    FROM todos t
    WHERE t.state = 'failed' AND t.next_retry_at IS NOT NULL
      AND t.next_retry_at <= statement_timestamp()
      AND (SELECT {{active}} FROM endpoints e WHERE e.id = t.endpoint_id)
      AND t.id <> ALL (%(passed_over)s::text[])
    ORDER BY t.next_retry_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
)
