-- Waits of one kind among those that wait longest. Index: todos_interrupted_idx.
SELECT w.id
FROM (SELECT t.id, t.state, t.interrupted_at FROM todos t
      WHERE t.state IN ('input-required', 'auth-required')
      ORDER BY t.interrupted_at LIMIT %(window)s) w
WHERE w.state = %(condition)s
ORDER BY w.interrupted_at
LIMIT %(limit)s
