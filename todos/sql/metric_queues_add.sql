-- Records queues that appear for the first time, as long as there is room.
INSERT INTO metric_queues (queue)
SELECT q.queue
FROM unnest(%(queues)s::text[]) WITH ORDINALITY AS q (queue, position)
WHERE NOT EXISTS (SELECT FROM metric_queues m WHERE m.queue = q.queue)
ORDER BY q.position
LIMIT GREATEST(%(limit)s::integer - (SELECT count(*) FROM metric_queues), 0)
