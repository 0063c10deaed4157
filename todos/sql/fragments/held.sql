-- Locks one todo, whatever its state, by its primary key, and finds its open attempt.
-- A statement that waited for the lock reads the todo anew but keeps its old snapshot for the
-- ledger. So the attempt is looked up by the sequence number which the fresh row names: if it
-- is `unseen`, the statement writes nothing and its caller runs it again.
locked AS MATERIALIZED (
    SELECT t.id, t.endpoint_id, t.queue, t.state, t.owner, t.assignee, t.idempotency_key, t.attempt,
           t.max_attempts, t.attempts_total, t.lease_expires_at, t.next_retry_at, t.interrupted_at
    FROM todos t
    WHERE t.id = %(id)s
      AND (%(endpoint)s::uuid IS NULL OR t.endpoint_id = %(endpoint)s::uuid)
    FOR NO KEY UPDATE
), held AS MATERIALIZED (
    SELECT l.*, a.id AS attempt_id, a.lease_token_hash,
           (l.state IN ('claimed', 'input-required', 'auth-required') AND a.id IS NULL) AS unseen
    FROM locked l
    LEFT JOIN todo_attempts a
      ON a.todo_id = l.id AND a.seq = l.attempts_total AND a.ended_at IS NULL
)
