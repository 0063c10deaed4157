-- Parked retries or dead letters among the newest failed todos of one queue: as queue_newest.sql.
-- Index: todos_unclaimed_queue_idx.
SELECT w.id
FROM (SELECT t.queue, t.state, t.id, t.next_retry_at FROM todos t
      WHERE (t.queue, t.state, t.id) <= (%(queue)s::text, 'failed', chr(1114111)) AND {{unclaimed}}
      ORDER BY t.queue DESC, t.state DESC, t.id DESC LIMIT %(window)s) w
WHERE w.queue = %(queue)s::text AND w.state = 'failed'
  AND (w.next_retry_at IS NOT NULL) = %(parked)s
ORDER BY w.id DESC
LIMIT %(limit)s
