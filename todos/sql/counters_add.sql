-- Adds what a process counted.
INSERT INTO todo_counters (name, queue, cause, value)
SELECT d.name, d.queue, d.cause, d.value
FROM unnest(%(names)s::text[], %(queues)s::text[], %(causes)s::text[], %(values)s::bigint[])
     AS d (name, queue, cause, value)
