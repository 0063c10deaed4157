-- What was done in the last 24 hours, the latest first. Index: todos_ended_idx, of which done
-- todos are the bulk.
WITH looked AS MATERIALIZED (
    SELECT t.id, t.endpoint_id, t.queue, t.completed_at AS since,
           statement_timestamp() - t.completed_at AS place, t.state = 'done' AS fits
    FROM todos t
    WHERE t.state IN ('done', 'canceled', 'rejected')
      AND t.completed_at > statement_timestamp() - interval '24 hours'
    ORDER BY t.completed_at DESC LIMIT %(window)s
), {{lane}}
