-- The todos of one queue in some states, the newest first: for each state one walk along
-- todos_unclaimed_queue_idx, backward from its end. The walk has no other end than its limit, and
-- what it reads beyond the queue is dropped after it: were the queue its condition, the planner
-- would read and sort all of it wherever it takes it for small. Claimed ones, which that index
-- spares, are those of queue_claimed.sql: todos_lease_idx.
SELECT f.id
FROM (
    SELECT w.id
    FROM unnest(%(states)s::text[]) s (state)
    CROSS JOIN LATERAL (
        SELECT t.queue, t.state, t.id FROM todos t
        WHERE (t.queue, t.state, t.id) <= (%(queue)s::text, s.state, chr(1114111))
          AND {{unclaimed}}
        ORDER BY t.queue DESC, t.state DESC, t.id DESC LIMIT %(limit)s
    ) w
    WHERE w.queue = %(queue)s::text AND w.state = s.state
    UNION ALL
    SELECT c.id
    FROM (SELECT t.id, t.queue FROM todos t
          WHERE t.state = 'claimed'
          ORDER BY t.lease_expires_at LIMIT %(window)s) c
    WHERE c.queue = %(queue)s::text AND 'claimed' = ANY (%(states)s::text[])
) f
ORDER BY f.id DESC
LIMIT %(limit)s
