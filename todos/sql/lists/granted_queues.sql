-- The queues that endpoints grant: every queue that a todo can ride, without reading the todos.
SELECT DISTINCT q.queue COLLATE "C"
FROM endpoints e CROSS JOIN LATERAL unnest(e.queues) q (queue)
ORDER BY 1
LIMIT %(limit)s
