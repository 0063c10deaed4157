-- Dead letters, the latest first. Index: todos_dead_idx.
SELECT t.id FROM todos t
WHERE t.state = 'failed' AND t.next_retry_at IS NULL
ORDER BY t.completed_at DESC
LIMIT %(limit)s
