-- Stamps waits that a process from before 0031 began, so that they cannot park for ever. Not a
-- transition: updated_at is the nearest that is known of their beginning, and stays.
-- Lock: SKIP LOCKED. Index: todos_interrupted_idx, which holds the unstamped, too. An array, since
-- for a join the planner may read all todos, to find that there is nothing to stamp.
WITH bare AS MATERIALIZED (
    SELECT t.id
    FROM todos t
    WHERE t.state IN ('input-required', 'auth-required') AND t.interrupted_at IS NULL
      AND t.id <> ALL (%(passed_over)s::text[])
    LIMIT %(limit)s
    FOR NO KEY UPDATE SKIP LOCKED
), written AS (
    UPDATE todos t SET interrupted_at = t.updated_at
    WHERE t.id = ANY (ARRAY(SELECT b.id FROM bare b))
    RETURNING t.id
)
SELECT b.id, w.id
FROM bare b LEFT JOIN written w ON w.id = b.id
