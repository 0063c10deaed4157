-- Canceled or rejected todos, the newest first. Index: todos_state_idx.
SELECT t.id FROM todos t
WHERE t.state IN ('pending', 'canceled', 'rejected') AND t.state = %(condition)s
  AND t.id > ''
ORDER BY t.id DESC
LIMIT %(limit)s
