-- heartbeat: claimed → claimed, its lease counted anew.
-- Guard: the holder. Touches no column whose index it need not write.
WITH {{held}}, written AS (
    UPDATE todos t
    SET lease_expires_at = {{lease}}
    FROM held h
    WHERE t.id = h.id AND h.state = 'claimed' AND NOT h.unseen AND {{holder}}
    RETURNING {{todo}}
), noted AS (
    UPDATE todo_attempts a
    SET last_heartbeat_at = statement_timestamp(), lease_expires_at = t.lease_expires_at
    FROM held h JOIN written t ON true
    WHERE a.id = h.attempt_id
)
SELECT {{found}}, {{todo}}
FROM held h LEFT JOIN written t ON true
