-- Claimed todos, the lease that lapses first, or lapsed, first. Index: todos_lease_idx.
SELECT t.id FROM todos t WHERE t.state = 'claimed' ORDER BY t.lease_expires_at LIMIT %(limit)s
