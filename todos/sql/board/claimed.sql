-- The board's claimed todos, the lease that lapses first, or lapsed, first. Index: todos_lease_idx.
WITH looked AS MATERIALIZED (
    SELECT t.id, t.endpoint_id, t.queue, t.claimed_at AS since, t.lease_expires_at AS place,
           true AS fits
    FROM todos t WHERE t.state = 'claimed'
    ORDER BY t.lease_expires_at LIMIT %(window)s
), {{lane}}
