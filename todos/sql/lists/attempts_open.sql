-- Open attempts, those of the newest todos first. Index: todo_attempts_open_unique.
SELECT a.id FROM todo_attempts a
WHERE a.ended_at IS NULL
ORDER BY a.todo_id DESC
LIMIT %(limit)s
