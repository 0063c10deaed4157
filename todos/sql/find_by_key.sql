-- The live todo that has an idempotency key. Index: todos_live_key_unique.
SELECT {{todo}}
FROM todos t
WHERE t.endpoint_id = %(endpoint)s::uuid AND t.idempotency_key = %(idempotency_key)s AND {{live}}
