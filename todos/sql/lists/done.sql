-- Done todos among those that ended last. Index: todos_ended_idx, of which they are the bulk.
SELECT w.id
FROM (SELECT t.id, t.state, t.completed_at FROM todos t
      WHERE t.state IN ('done', 'canceled', 'rejected')
      ORDER BY t.completed_at DESC LIMIT %(window)s) w
WHERE w.state = 'done'
ORDER BY w.completed_at DESC
LIMIT %(limit)s
