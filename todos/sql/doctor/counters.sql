-- Invariant 4: per queue, the counters of lapses equal the ledger, kept and tallied.
WITH ledger AS (
    SELECT t.queue, a.ended_from, count(*) AS died
    FROM todo_attempts a JOIN todos t ON t.id = a.todo_id
    WHERE a.outcome IN ('lease_expired', 'reaped')
    GROUP BY t.queue, a.ended_from
    UNION ALL
    SELECT y.queue, y.ended_from, y.count
    FROM todo_attempt_tallies y
    WHERE y.outcome IN ('lease_expired', 'reaped')
), due AS (
    SELECT 'leases_expired' AS name, l.queue, sum(l.died) AS value FROM ledger l GROUP BY l.queue
    UNION ALL
    SELECT 'interrupt_leases_reclaimed', l.queue, sum(l.died) FROM ledger l
    WHERE l.ended_from IN ('input-required', 'auth-required') GROUP BY l.queue
), counted AS (
    SELECT n.name, n.queue, sum(n.value) AS value FROM todo_counters n
    WHERE n.name IN ('leases_expired', 'interrupt_leases_reclaimed')
    GROUP BY n.name, n.queue
)
SELECT concat('queue ', COALESCE(d.queue, c.queue)),
       concat('has counter ', COALESCE(d.name, c.name), ' at ', COALESCE(c.value, 0),
              ' and ', COALESCE(d.value, 0), ' in the ledger')
FROM due d FULL JOIN counted c ON c.name = d.name AND c.queue = d.queue
WHERE COALESCE(d.value, 0) <> COALESCE(c.value, 0)
ORDER BY 1, 2
