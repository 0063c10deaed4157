-- Adds what a process counted. Lock: the counters, in the order of their keys.
INSERT INTO todo_counters AS n (name, queue, cause, value)
SELECT d.name, d.queue, d.cause, d.value
FROM unnest(%(names)s::text[], %(queues)s::text[], %(causes)s::text[], %(values)s::bigint[])
     AS d (name, queue, cause, value)
ORDER BY d.name, d.queue, d.cause
ON CONFLICT (name, queue, cause) DO UPDATE SET value = n.value + EXCLUDED.value
