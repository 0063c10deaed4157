-- The waits that were reclaimed in the last 24 hours, the latest first.
-- Index: todo_attempts_reclaimed_idx.
WITH looked AS MATERIALIZED (
    SELECT a.id, a.todo_id, a.attempt, a.disposition, a.waited_since, a.ended_at
    FROM todo_attempts a
    WHERE a.outcome = 'reaped' AND a.ended_from IN ('input-required', 'auth-required')
      AND a.ended_at > statement_timestamp() - interval '24 hours'
    ORDER BY a.ended_at DESC LIMIT %(window)s
)
SELECT l.id, t.id, t.title, t.queue, l.attempt, t.max_attempts,
       l.disposition = 'dead_lettered', l.waited_since, l.ended_at
FROM looked l JOIN todos t ON t.id = l.todo_id
WHERE (%(endpoint)s::uuid IS NULL OR t.endpoint_id = %(endpoint)s::uuid)
  AND (%(queue)s::text IS NULL OR t.queue = %(queue)s::text)
ORDER BY l.ended_at DESC, l.id DESC
LIMIT %(shown)s
