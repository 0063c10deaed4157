-- Counts what was reaped, in the commit that reaps it: one lapse each, the marker of the cause for
-- a wait, and a dead letter at the cap. New rows, since a lock on a counter would make a sweep
-- wait for whoever counts in a long transaction; counters_compact.sql adds them up.
counted AS (
    INSERT INTO todo_counters (name, queue, cause, value)
    SELECT what.name, c.queue, what.cause, sum(c.reaped)
    FROM (SELECT c.queue, c.state, c.at_cap, count(*) AS reaped FROM closed c GROUP BY 1, 2, 3) c
    CROSS JOIN LATERAL (VALUES
        ('leases_expired', '', true),
        ('interrupt_leases_reclaimed', '', c.state <> 'claimed'),
        ('dead_lettered',
         CASE c.state WHEN 'claimed' THEN 'lease_expired' ELSE 'interrupt_expired' END, c.at_cap)
    ) AS what (name, cause, applies)
    WHERE what.applies
    GROUP BY what.name, c.queue, what.cause
)
