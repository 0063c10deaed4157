-- As revocation_lock.sql, for the tick, which waits for nobody and comes again.
SELECT t.id
FROM todos t
WHERE t.endpoint_id BETWEEN %(endpoint)s::uuid AND %(endpoint)s::uuid AND {{live}}
  AND (SELECT e.revoked_at IS NOT NULL FROM endpoints e WHERE e.id = %(endpoint)s::uuid)
  AND t.id <> ALL (%(passed_over)s::text[])
ORDER BY t.endpoint_id, t.id
LIMIT %(limit)s
FOR NO KEY UPDATE SKIP LOCKED
