-- reap a lapsed lease: claimed → pending, or at the cap a dead letter.
-- Guard: lapsed by the database's clock; an active endpoint. Lock: SKIP LOCKED, so whoever
-- commits first wins and the sweep leaves the row alone. Index: todos_lease_idx.
-- A full join only because that is never done by comparing each pair of rows.
WITH {{due_leases}}, {{reap}}, written AS (
    UPDATE todos t
    SET {{requeue}},
        result = CASE WHEN NOT c.at_cap THEN t.result ELSE jsonb_build_object(
            'error', 'lease_expired',
            'detail', concat('the lease of ', t.owner, ' ran out at ',
                to_char(t.lease_expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
                ' in attempt ', t.attempt, ' of ', t.max_attempts),
            'result', t.result) END
    FROM closed c
    WHERE t.id = c.todo_id
    RETURNING {{todo}}
), {{count_reaped}}
SELECT d.id, {{todo_light}}
FROM due d FULL JOIN written t ON t.id = d.id
