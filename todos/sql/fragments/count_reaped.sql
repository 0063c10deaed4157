-- Counts what `written` reaped from `closed`, in the commit that reaps it: one lapse each, the
-- marker of the cause for a wait, and a dead letter at the cap. The counters are locked last.
counted AS (
    INSERT INTO todo_counters AS n (name, queue, cause, value)
    SELECT what.name, t.queue, what.cause, count(*)
    FROM written t
    JOIN due d ON d.id = t.id
    CROSS JOIN LATERAL (VALUES
        ('leases_expired', '', true),
        ('interrupt_leases_reclaimed', '', d.state <> 'claimed'),
        ('dead_lettered',
         CASE d.state WHEN 'claimed' THEN 'lease_expired' ELSE 'interrupt_expired' END, d.at_cap)
    ) AS what (name, cause, applies)
    WHERE what.applies
    GROUP BY what.name, t.queue, what.cause
    ORDER BY what.name, t.queue, what.cause
    ON CONFLICT (name, queue, cause) DO UPDATE SET value = n.value + EXCLUDED.value
)
