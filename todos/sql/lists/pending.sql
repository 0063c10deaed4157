-- Pending todos, the oldest first. Index: todos_state_idx.
SELECT t.id FROM todos t WHERE t.state = 'pending' AND t.id > '' ORDER BY t.id LIMIT %(limit)s
