-- Claimable although not pending: a lapsed lease below the cap, or a due retry. Few, as the reaper
-- takes them; one bitmap over todos_lease_idx and todos_retry_idx finds both. A lapsed lease whose
-- open attempt is not seen was just taken over, or its ledger is broken: it is passed over.
((t.state = 'claimed' AND t.lease_expires_at < statement_timestamp()
  AND t.attempt < t.max_attempts
  AND EXISTS (SELECT FROM todo_attempts o
              WHERE o.todo_id = t.id AND o.seq = t.attempts_total AND o.ended_at IS NULL))
 OR (t.state = 'failed' AND t.next_retry_at <= statement_timestamp()))
AND t.endpoint_id = e.id AND t.queue = ANY (e.queues)
AND COALESCE(t.assignee, '') IN ('', %(owner)s)
