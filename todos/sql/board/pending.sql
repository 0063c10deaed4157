-- The board's pending todos, the oldest first. Index: todos_state_idx. Said as a range, for by an
-- equal state the planner may walk along the primary key, past all that was ever done.
WITH looked AS MATERIALIZED (
    SELECT t.id, t.endpoint_id, t.queue, t.created_at AS since, t.created_at AS place, true AS fits
    FROM todos t
    WHERE t.state IN ('pending', 'canceled', 'rejected') AND t.id > ''
      AND (t.state, t.id) >= ('pending', '') AND t.state <= 'pending'
    ORDER BY t.state, t.id LIMIT %(window)s
), {{lane}}
