-- The pending todos of one endpoint, of one queue, or of both, the oldest first: one walk along
-- todos_pending_idx for each endpoint and queue, however many others wait in front of them.
WITH places AS MATERIALIZED (
    SELECT e.id, q.queue
    FROM endpoints e CROSS JOIN LATERAL unnest(e.queues) q (queue)
    WHERE e.revocation_finished_at IS NULL
      AND (%(endpoint)s::uuid IS NULL OR e.id = %(endpoint)s::uuid)
      AND (%(queue)s::text IS NULL OR q.queue = %(queue)s::text)
    LIMIT %(places)s
), looked AS MATERIALIZED (
    SELECT h.id, p.id AS endpoint_id, p.queue, h.created_at AS since, h.created_at AS place, true AS fits
    FROM places p
    CROSS JOIN LATERAL (
        SELECT t.id, t.created_at FROM todos t
        WHERE t.state = 'pending' AND t.endpoint_id = p.id AND t.queue = p.queue
        ORDER BY COALESCE(t.assignee, ''), t.created_at, t.id LIMIT %(window)s
    ) h
    LIMIT %(window)s
), {{lane}}
