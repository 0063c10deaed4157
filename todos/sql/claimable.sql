-- Which of these places, an endpoint's queue each, have something that a claim of their owner could
-- take now: for claims that wait. Without locks. Of what lapsed or is due, which is much only while
-- no tick runs, it reads 10,000 rows.
-- Index: todos_pending_idx; todos_lease_idx and todos_retry_idx.
WITH late AS MATERIALIZED (
    SELECT t.endpoint_id, t.queue, COALESCE(t.assignee, '') AS assignee
    FROM todos t
    WHERE (t.state = 'claimed' AND t.lease_expires_at < statement_timestamp()
           AND t.attempt < t.max_attempts)
       OR (t.state = 'failed' AND t.next_retry_at <= statement_timestamp())
    LIMIT 10000
)
SELECT e.id::text, h.queue
FROM unnest(%(endpoints)s::uuid[], %(queues)s::text[], %(owners)s::text[])
     AS h (endpoint_id, queue, owner)
JOIN endpoints e ON e.id = h.endpoint_id AND {{active}}
CROSS JOIN LATERAL (
    SELECT EXISTS (SELECT FROM todos t
                   WHERE t.state = 'pending' AND t.endpoint_id = e.id AND t.queue = h.queue
                     AND COALESCE(t.assignee, '') = '')
        OR EXISTS (SELECT FROM todos t
                   WHERE t.state = 'pending' AND t.endpoint_id = e.id AND t.queue = h.queue
                     AND COALESCE(t.assignee, '') = h.owner) AS anything
) pending
WHERE pending.anything
   OR EXISTS (SELECT FROM late l
              WHERE l.endpoint_id = e.id AND l.queue = h.queue AND l.assignee IN ('', h.owner))
