-- As queue_newest.sql, the oldest first. Index: todos_unclaimed_queue_idx.
SELECT w.id
FROM unnest(%(states)s::text[]) s (state)
CROSS JOIN LATERAL (
    SELECT t.queue, t.state, t.id FROM todos t
    WHERE (t.queue, t.state, t.id) >= (%(queue)s::text, s.state, '') AND {{unclaimed}}
    ORDER BY t.queue, t.state, t.id LIMIT %(limit)s
) w
WHERE w.queue = %(queue)s::text AND w.state = s.state
ORDER BY w.id
LIMIT %(limit)s
