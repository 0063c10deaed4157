-- Parked retries whose time has come, the longest due first.
due AS MATERIALIZED (
    SELECT t.id
    FROM todos t
    WHERE t.state = 'failed' AND t.next_retry_at IS NOT NULL
      AND t.next_retry_at <= statement_timestamp()
      AND {{of_active}}
      AND t.id <> ALL (%(passed_over)s::text[])
    ORDER BY t.next_retry_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
)
