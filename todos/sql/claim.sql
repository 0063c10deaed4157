-- claim: pending, claimed with a lapsed lease below the cap, or a due retry → claimed.
-- Guard: the endpoint is active; unassigned, or assigned to this owner (or to nobody that an
-- operator would have to mind). Lock: the todo, waiting.
WITH {{held}}, judged AS MATERIALIZED (
    SELECT h.id, h.state, h.attempts_total, {{active}} AS active,
           %(endpoint)s::uuid IS NULL OR h.assignee IS NULL OR h.assignee = %(owner)s AS assigned,
           h.state = 'pending'
           OR (h.state = 'claimed' AND h.lease_expires_at < statement_timestamp()
               AND h.attempt < h.max_attempts)
           OR (h.state = 'failed' AND h.next_retry_at <= statement_timestamp()) AS claimable
    FROM held h JOIN endpoints e ON e.id = h.endpoint_id
), chosen AS MATERIALIZED (
    SELECT j.id, j.state, j.attempts_total
    FROM judged j
    WHERE j.active AND j.assigned AND j.claimable
), {{take}}
SELECT {{found}}, j.active, j.assigned, j.claimable, {{todo}}
FROM held h JOIN judged j ON true LEFT JOIN written t ON true
