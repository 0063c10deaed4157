-- The newest attempts. Index: the primary key.
SELECT a.id FROM todo_attempts a ORDER BY a.id DESC LIMIT %(limit)s
