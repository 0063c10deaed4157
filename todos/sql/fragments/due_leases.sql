-- Lapsed leases, the longest lapsed first. An inactive endpoint's belong to its revocation.
due AS MATERIALIZED (
    SELECT t.id, t.queue, t.state, t.attempts_total, t.attempt >= t.max_attempts AS at_cap,
           NULL::timestamptz AS waited_since
    FROM todos t
    WHERE t.state = 'claimed' AND t.lease_expires_at < statement_timestamp()
      AND {{of_active}}
      AND t.id <> ALL (%(passed_over)s::text[])
    ORDER BY t.lease_expires_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
)
