-- The todos of one queue in some states, the newest first: for each state one walk along
-- todos_queue_idx, backward from its end. The walk has no other end than its limit, and what it
-- reads beyond the queue is dropped after it: were the queue its condition, the planner would
-- read and sort all of it wherever it takes it for small.
SELECT w.id
FROM unnest(%(states)s::text[]) s (state)
CROSS JOIN LATERAL (
    SELECT t.queue, t.state, t.id FROM todos t
    WHERE (t.queue, t.state, t.id) <= (%(queue)s::text, s.state, chr(1114111)) AND t.id > ''
    ORDER BY t.queue DESC, t.state DESC, t.id DESC LIMIT %(limit)s
) w
WHERE w.queue = %(queue)s::text AND w.state = s.state
ORDER BY w.id DESC
LIMIT %(limit)s
