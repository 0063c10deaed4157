-- Claims the rows of `chosen`: ends the attempt of a lapsed lease, takes the todo, opens an
-- attempt. `opened` reads from what reads `closed`, since only one attempt may be open. A lapse
-- is counted in the commit that ends it.
-- A stamp that a process from before 0031 left behind goes, too.
closed AS (
    UPDATE todo_attempts a
    SET ended_at = statement_timestamp(), ended_from = 'claimed',
        outcome = 'lease_expired', disposition = 'requeued'
    FROM chosen c
    WHERE c.state = 'claimed'
      AND a.todo_id = c.id AND a.seq = c.attempts_total AND a.ended_at IS NULL
    RETURNING a.todo_id
), written AS (
    UPDATE todos t
    SET state = 'claimed', owner = %(owner)s, lease_expires_at = {{lease}},
        claimed_at = statement_timestamp(), attempt = t.attempt + 1,
        attempts_total = t.attempts_total + 1, next_retry_at = NULL, interrupted_at = NULL,
        updated_at = statement_timestamp()
    FROM chosen c
    WHERE t.id = c.id AND (c.state <> 'claimed' OR EXISTS (SELECT FROM closed))
    RETURNING {{todo}}
), counted AS (
    INSERT INTO todo_counters (name, queue, cause, value)
    SELECT 'leases_expired', t.queue, '', 1 FROM written t CROSS JOIN closed
), opened AS (
    INSERT INTO todo_attempts (todo_id, seq, attempt, claimer_kind, claimer_endpoint_id, owner,
                               claimant, claimed_at, lease_expires_at, lease_token_hash)
    SELECT t.id, t.attempts_total, t.attempt, %(claimer_kind)s, %(endpoint)s::uuid, t.owner,
           %(claimant)s, t.claimed_at, t.lease_expires_at, %(token)s::bytea
    FROM written t
)
