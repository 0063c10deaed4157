-- reject: pending → rejected. Lock: the todo, waiting.
WITH {{held}}, written AS (
    UPDATE todos t
    SET state = 'rejected', result = %(result)s::jsonb, completed_at = statement_timestamp(),
        updated_at = statement_timestamp()
    FROM held h
    WHERE t.id = h.id AND h.state = 'pending'
    RETURNING {{todo}}
)
SELECT {{found}}, {{todo}}
FROM held h LEFT JOIN written t ON true
