-- Counts what was reaped, in the commit that reaps it: one lapse each, the marker of the cause for
-- a wait, and a dead letter at the cap. The counters are locked last.
counted AS (
    INSERT INTO todo_counters AS n (name, queue, cause, value)
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
    ORDER BY what.name, c.queue, what.cause
    ON CONFLICT (name, queue, cause) DO UPDATE SET value = n.value + EXCLUDED.value
)
