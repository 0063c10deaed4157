-- Completed attempts among the newest. Index: the primary key; they are the bulk of it.
SELECT w.id
FROM (SELECT a.id, a.outcome FROM todo_attempts a ORDER BY a.id DESC LIMIT %(window)s) w
WHERE w.outcome = 'completed'
ORDER BY w.id DESC
LIMIT %(limit)s
