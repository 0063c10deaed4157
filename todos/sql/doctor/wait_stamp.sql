-- Invariant 2: interrupted_at is set exactly while a todo waits.
SELECT t.id, concat('is ', t.state, ' with interrupted_at ',
                    COALESCE(t.interrupted_at::text, 'NULL'))
FROM todos t
WHERE (t.interrupted_at IS NOT NULL) <> (t.state IN ('input-required', 'auth-required'))
ORDER BY t.id
