-- Marks a revocation as finished once no live todo is left. Index: todos_live_idx.
UPDATE endpoints e
SET revocation_finished_at = statement_timestamp()
WHERE e.id = %(endpoint)s::uuid AND e.revoked_at IS NOT NULL
  AND e.revocation_finished_at IS NULL
  AND NOT EXISTS (SELECT FROM todos t WHERE t.endpoint_id = e.id AND {{live}})
