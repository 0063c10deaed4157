-- due retry: failed and parked → pending. Guard: due by the database's clock; an active
-- endpoint. Lock: SKIP LOCKED. Index: todos_retry_idx. Full join: as in reap_leases.sql.
WITH {{due_retries}}, written AS (
    UPDATE todos t
    SET state = 'pending', next_retry_at = NULL, updated_at = statement_timestamp()
    FROM due d
    WHERE t.id = d.id
    RETURNING {{todo}}
)
SELECT d.id, {{todo_light}}
FROM due d FULL JOIN written t ON t.id = d.id
