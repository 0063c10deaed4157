-- Ends the open attempt of each row of `due` as reaped. The attempt is found by the sequence
-- number that the locked row names; a row whose attempt is not seen is left alone.
closed AS (
    UPDATE todo_attempts a
    SET ended_at = statement_timestamp(), ended_from = d.state, outcome = 'reaped',
        waited_since = d.waited_since,
        disposition = CASE WHEN d.at_cap THEN 'dead_lettered' ELSE 'requeued' END
    FROM due d
    WHERE a.todo_id = d.id AND a.seq = d.attempts_total AND a.ended_at IS NULL
    RETURNING a.todo_id, d.queue, d.state, d.at_cap
)
