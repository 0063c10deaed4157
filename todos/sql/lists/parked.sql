-- Parked retries, the next one due first. Index: todos_retry_idx.
SELECT t.id FROM todos t
WHERE t.state = 'failed' AND t.next_retry_at IS NOT NULL
ORDER BY t.next_retry_at
LIMIT %(limit)s
