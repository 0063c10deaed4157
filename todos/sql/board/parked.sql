-- The board's parked retries, the next one due first. Index: todos_retry_idx.
WITH looked AS MATERIALIZED (
    SELECT t.id, t.endpoint_id, t.queue, t.updated_at AS since, t.next_retry_at AS place,
           true AS fits
    FROM todos t WHERE t.state = 'failed' AND t.next_retry_at IS NOT NULL
    ORDER BY t.next_retry_at LIMIT %(window)s
), {{lane}}
