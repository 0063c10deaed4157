-- Locks live todos of a revoked endpoint, in the order of their ids, waiting for each: the
-- attempt which a claim before it opens is seen by the next statement, revocation_apply.sql.
-- Index: todos_live_idx. A range of one endpoint, since after an equality the primary key would
-- serve the order as well, and each batch would walk over all that the ones before it wrote.
SELECT t.id
FROM todos t
WHERE t.endpoint_id BETWEEN %(endpoint)s::uuid AND %(endpoint)s::uuid AND {{live}}
  AND (SELECT e.revoked_at IS NOT NULL FROM endpoints e WHERE e.id = %(endpoint)s::uuid)
  AND t.id <> ALL (%(passed_over)s::text[])
ORDER BY t.endpoint_id, t.id
LIMIT %(limit)s
FOR NO KEY UPDATE
