-- How many seconds the oldest wait is old, NULL without one, and how many waits are past their
-- deadline, counted up to %(most)s. Guard: none, as whoever looks wants those of an inactive
-- endpoint, too. Index: todos_interrupted_idx, its beginning.
SELECT (
    SELECT EXTRACT(EPOCH FROM statement_timestamp() - COALESCE(t.interrupted_at, t.updated_at))
    FROM todos t
    WHERE t.state IN ('input-required', 'auth-required')
    ORDER BY t.interrupted_at
    LIMIT 1
)::double precision, (
    SELECT count(*)
    FROM (
        SELECT
        FROM todos t
        WHERE t.state IN ('input-required', 'auth-required')
          AND t.interrupted_at < statement_timestamp() - make_interval(secs => %(ttl)s::bigint)
        LIMIT %(most)s
    ) overdue
)
