-- Dead letters that ended before a given time, the oldest first.
old AS MATERIALIZED (
    SELECT t.id, t.queue
    FROM todos t
    WHERE t.state = 'failed' AND t.next_retry_at IS NULL
      AND t.completed_at < %(before)s AND t.id <> ALL (%(passed_over)s::text[])
    ORDER BY t.completed_at
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
)
