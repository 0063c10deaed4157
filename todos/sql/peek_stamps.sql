-- The row that stamp_waits.sql would take next.
SELECT t.id
FROM todos t
WHERE t.state IN ('input-required', 'auth-required') AND t.interrupted_at IS NULL
  AND t.id <> ALL (%(passed_over)s::text[])
LIMIT %(limit)s
FOR NO KEY UPDATE SKIP LOCKED
