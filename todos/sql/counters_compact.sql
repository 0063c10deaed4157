-- Adds up the rows of each counter that has many; what it counts stays the same at every commit.
-- Lock: SKIP LOCKED, so that two of them share the work.
WITH crowded AS (
    SELECT n.name, n.queue, n.cause
    FROM todo_counters n
    GROUP BY n.name, n.queue, n.cause
    HAVING count(*) > 1
), parts AS MATERIALIZED (
    SELECT n.id
    FROM todo_counters n
    WHERE (n.name, n.queue, n.cause) IN (SELECT c.name, c.queue, c.cause FROM crowded c)
    FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM todo_counters n USING parts p
    WHERE n.id = p.id
    RETURNING n.name, n.queue, n.cause, n.value
)
INSERT INTO todo_counters (name, queue, cause, value)
SELECT g.name, g.queue, g.cause, sum(g.value)
FROM gone g
GROUP BY g.name, g.queue, g.cause
