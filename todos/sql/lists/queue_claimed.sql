-- Claimed todos of one queue among those whose lease lapses first. Index: todos_lease_idx.
SELECT w.id
FROM (SELECT t.id, t.queue, t.lease_expires_at FROM todos t
      WHERE t.state = 'claimed'
      ORDER BY t.lease_expires_at LIMIT %(window)s) w
WHERE w.queue = %(queue)s::text
ORDER BY w.lease_expires_at
LIMIT %(limit)s
