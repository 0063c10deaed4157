-- Locks live todos of a revoked endpoint, in the order of their ids, waiting for each: the
-- attempt which a claim before it opens is seen by the next statement, revocation_apply.sql.
-- Index: todos_live_idx.
SELECT t.id
FROM todos t JOIN endpoints e ON e.id = t.endpoint_id
WHERE t.endpoint_id = %(endpoint)s::uuid AND {{live}} AND e.revoked_at IS NOT NULL
  AND t.id <> ALL (%(passed_over)s::text[])
ORDER BY t.id
LIMIT %(limit)s
FOR NO KEY UPDATE OF t
