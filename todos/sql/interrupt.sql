-- interrupt: claimed → input-required or auth-required; owner, lease and attempt stay.
-- Guard: the holder. The wait's own clock starts here (ADR-0046).
WITH {{held}}, written AS (
    UPDATE todos t
    SET state = %(state)s, result = %(result)s::jsonb, interrupted_at = statement_timestamp(),
        updated_at = statement_timestamp()
    FROM held h
    WHERE t.id = h.id AND h.state = 'claimed' AND NOT h.unseen AND {{holder}}
    RETURNING {{todo}}
)
SELECT {{found}}, {{todo}}
FROM held h LEFT JOIN written t ON true
