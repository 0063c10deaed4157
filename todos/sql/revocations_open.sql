-- Revoked endpoints that may still have live todos. Index: endpoints_unfinished_idx.
SELECT e.id
FROM endpoints e
WHERE e.revoked_at IS NOT NULL AND e.revocation_finished_at IS NULL
ORDER BY e.revoked_at
