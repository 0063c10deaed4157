-- When the oldest of the newest so many done, canceled and rejected todos ended: what ended before
-- is beyond them. No row: there are not more. Index: todos_ended_idx.
SELECT t.completed_at
FROM todos t
WHERE t.state IN ('done', 'canceled', 'rejected')
ORDER BY t.completed_at DESC
OFFSET %(rows)s::bigint - 1
LIMIT 1
