-- Reclaims the waits of `due` (ADR-0046). An operator's may lack its stamp: see stamp_waits.sql.
{{reap}}, written AS (
    UPDATE todos t
    SET {{requeue}},
        result = CASE WHEN NOT c.at_cap THEN t.result ELSE jsonb_build_object(
            'error', 'interrupt_expired',
            'detail', concat(t.state, ' since ',
                to_char(COALESCE(t.interrupted_at, t.updated_at) AT TIME ZONE 'UTC',
                    'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
                ', ', %(why)s::text),
            'interrupt', t.result) END
    FROM closed c
    WHERE t.id = c.todo_id
    RETURNING {{todo}}
)
