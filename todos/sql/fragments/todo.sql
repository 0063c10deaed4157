-- The columns of a todo, in the order of rows.FIELDS; never `*`, which a prepared statement does
-- not survive when a column is added.
t.id, t.endpoint_id, t.queue, t.title, t.kind, t.source, t.payload, t.idempotency_key,
t.assignee, t.state, t.owner, t.lease_expires_at, t.claimed_at, t.attempt, t.max_attempts,
t.attempts_total, t.attempts_pruned, t.interrupted_at, t.next_retry_at, t.result, t.created_at,
t.updated_at, t.completed_at
