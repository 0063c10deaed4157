-- Lapsed waits (ADR-0046), the longest waiting first. An inactive endpoint's belong to its
-- revocation: requeueing what nobody can claim would make a churn machine of it.
-- Endpoints as in due_leases.sql.
due AS MATERIALIZED (
    SELECT t.id, t.queue, t.state, t.attempts_total, t.attempt >= t.max_attempts AS at_cap,
           EXTRACT(EPOCH FROM statement_timestamp() - t.interrupted_at)::double precision AS waited
    FROM todos t
    WHERE t.state IN ('input-required', 'auth-required')
      AND t.interrupted_at < statement_timestamp() - make_interval(secs => %(ttl)s::bigint)
      AND (SELECT {{active}} FROM endpoints e WHERE e.id = t.endpoint_id)
      AND t.id <> ALL (%(passed_over)s::text[])
    ORDER BY t.interrupted_at
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
)
