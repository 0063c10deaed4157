-- Attempts that ended in one other way, the newest first. Index: todo_attempts_outcome_idx.
SELECT a.id FROM todo_attempts a
WHERE a.outcome IN ('failed', 'released', 'canceled', 'revoked', 'lease_expired', 'reaped')
  AND a.outcome = %(outcome)s
ORDER BY a.id DESC
LIMIT %(limit)s
