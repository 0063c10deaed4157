-- A lapsed lease whose open attempt is not seen was just taken over, or its ledger is broken: it
-- is passed over.
(t.state = 'failed' OR EXISTS (
    SELECT FROM todo_attempts o
    WHERE o.todo_id = t.id AND o.seq = t.attempts_total AND o.ended_at IS NULL))
