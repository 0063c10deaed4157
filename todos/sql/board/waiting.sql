-- The board's waits of both kinds, the longest waiting first. Index: todos_interrupted_idx.
WITH looked AS MATERIALIZED (
    SELECT t.id, t.endpoint_id, t.queue, t.interrupted_at AS since, t.interrupted_at AS place,
           true AS fits
    FROM todos t WHERE t.state IN ('input-required', 'auth-required')
    ORDER BY t.interrupted_at LIMIT %(window)s
), {{lane}}
