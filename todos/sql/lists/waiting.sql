-- Waits of both kinds, the longest waiting first. Index: todos_interrupted_idx.
SELECT t.id FROM todos t
WHERE t.state IN ('input-required', 'auth-required')
ORDER BY t.interrupted_at
LIMIT %(limit)s
