-- The board's dead letters, the latest first. Index: todos_dead_idx.
WITH looked AS MATERIALIZED (
    SELECT t.id, t.endpoint_id, t.queue, t.completed_at AS since,
           statement_timestamp() - t.completed_at AS place, true AS fits
    FROM todos t WHERE t.state = 'failed' AND t.next_retry_at IS NULL
    ORDER BY t.completed_at DESC LIMIT %(window)s
), {{lane}}
