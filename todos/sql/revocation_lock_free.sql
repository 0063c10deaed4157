-- As revocation_lock.sql, for the tick, which waits for nobody and comes again.
SELECT t.id
FROM todos t JOIN endpoints e ON e.id = t.endpoint_id
WHERE t.endpoint_id = %(endpoint)s::uuid AND {{live}} AND e.revoked_at IS NOT NULL
  AND t.id <> ALL (%(passed_over)s::text[])
ORDER BY t.id
LIMIT %(limit)s
FOR NO KEY UPDATE OF t SKIP LOCKED
