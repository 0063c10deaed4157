-- The newest todos of one endpoint, of these queues and states, below an id.
-- Index: todos_unclaimed_endpoint_idx, one walk for each queue and state, each no longer than the
-- list. Claimed ones, which that index spares, are found among all that are held: todos_lease_idx.
WITH claimed AS MATERIALIZED (
    SELECT t.id FROM todos t
    WHERE t.state = 'claimed' AND t.endpoint_id = %(endpoint)s::uuid
      AND t.queue = ANY (%(queues)s::text[]) AND 'claimed' = ANY (%(states)s::text[])
      AND t.id < %(below)s
), newest AS MATERIALIZED (
    SELECT f.id
    FROM unnest(%(queues)s::text[]) q (queue)
    CROSS JOIN unnest(%(states)s::text[]) s (state)
    CROSS JOIN LATERAL (
        SELECT t.id FROM todos t
        WHERE t.endpoint_id = %(endpoint)s::uuid AND t.queue = q.queue AND t.state = s.state
          AND t.state IN ('pending', 'input-required', 'auth-required', 'failed', 'done',
                          'canceled', 'rejected')
          AND t.id <> '-' AND t.id < %(below)s
        ORDER BY t.id DESC LIMIT %(limit)s
    ) f
    UNION ALL
    SELECT c.id FROM claimed c
    ORDER BY id DESC LIMIT %(limit)s
)
SELECT {{todo_light}} FROM newest n JOIN todos t ON t.id = n.id ORDER BY t.id DESC
