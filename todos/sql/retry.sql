-- retry: failed, parked or dead → pending, its attempts counted anew; the ledger stays.
-- Guard: the endpoint is active; no other live todo has the key (todos_live_key_unique has
-- the last word). Lock: the todo; then the endpoint FOR SHARE, as create.sql, and for its reason.
WITH {{held}}, endpoint AS MATERIALIZED (
    SELECT e.id
    FROM held h JOIN endpoints e ON e.id = h.endpoint_id
    WHERE {{active}}
    FOR SHARE OF e
), rival AS MATERIALIZED (
    SELECT t.id
    FROM held h
    JOIN todos t ON t.endpoint_id = h.endpoint_id AND t.idempotency_key = h.idempotency_key
    WHERE t.id <> h.id AND {{live}}
), written AS (
    UPDATE todos t
    SET state = 'pending', attempt = 0, next_retry_at = NULL, completed_at = NULL,
        updated_at = statement_timestamp()
    FROM held h JOIN endpoint e ON e.id = h.endpoint_id
    WHERE t.id = h.id AND h.state = 'failed' AND NOT EXISTS (SELECT FROM rival)
    RETURNING {{todo}}
)
SELECT {{found}}, EXISTS (SELECT FROM endpoint), (SELECT r.id FROM rival r), {{todo}}
FROM held h LEFT JOIN written t ON true
