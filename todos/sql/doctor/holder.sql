-- Invariant 2: owner and lease are set exactly in claimed and waiting.
SELECT t.id, concat('is ', t.state, ' with owner ', COALESCE(t.owner, 'NULL'),
                    ' and lease_expires_at ', COALESCE(t.lease_expires_at::text, 'NULL'))
FROM todos t
WHERE (t.owner IS NOT NULL) <> (t.state IN ('claimed', 'input-required', 'auth-required'))
   OR (t.lease_expires_at IS NOT NULL)
      <> (t.state IN ('claimed', 'input-required', 'auth-required'))
ORDER BY t.id
