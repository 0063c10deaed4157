-- Lapsed waits (ADR-0046), the longest waiting first. An inactive endpoint's belong to its
-- revocation: requeueing what nobody can claim would make a churn machine of it.
due AS MATERIALIZED (
    SELECT t.id, t.state, t.attempts_total, t.attempt >= t.max_attempts AS at_cap
    FROM todos t JOIN endpoints e ON e.id = t.endpoint_id
    WHERE t.state IN ('input-required', 'auth-required')
      AND t.interrupted_at < statement_timestamp() - make_interval(secs => %(ttl)s::bigint)
      AND {{active}} AND t.id <> ALL (%(passed_over)s::text[])
    ORDER BY t.interrupted_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF t SKIP LOCKED
)
