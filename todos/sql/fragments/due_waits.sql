-- Lapsed waits (ADR-0046), the longest waiting first. An inactive endpoint's belong to its
-- revocation: requeueing what nobody can claim would make a churn machine of it.
due AS MATERIALIZED (
    SELECT t.id, t.queue, t.state, t.attempts_total, t.attempt >= t.max_attempts AS at_cap,
           t.interrupted_at AS waited_since
    FROM todos t CROSS JOIN (SELECT %(ttl)s::bigint) ttl (seconds)
    WHERE t.state IN ('input-required', 'auth-required')
      AND {{lapsed_wait}} AND {{of_active}}
      AND t.id <> ALL (%(passed_over)s::text[])
    ORDER BY t.interrupted_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
