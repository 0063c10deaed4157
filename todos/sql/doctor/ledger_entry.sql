-- The ledger: an open attempt is the latest of its todo and says nothing of an end; a closed one
-- says when, from which state, why and whereto it ended.
SELECT a.todo_id, concat('has attempt ', a.seq, ', ',
    CASE WHEN a.ended_at IS NULL THEN 'open' ELSE 'closed' END, ', with outcome ',
    COALESCE(a.outcome, 'NULL'), ', disposition ', COALESCE(a.disposition, 'NULL'),
    ', ended_from ', COALESCE(a.ended_from, 'NULL'), ', of ', t.attempts_total)
FROM todo_attempts a JOIN todos t ON t.id = a.todo_id
WHERE a.seq > t.attempts_total
   OR (a.ended_at IS NULL
       AND (num_nonnulls(a.outcome, a.disposition, a.ended_from) > 0
            OR a.seq <> t.attempts_total))
   OR (a.ended_at IS NOT NULL AND num_nulls(a.outcome, a.disposition, a.ended_from) > 0)
ORDER BY a.todo_id, a.seq
