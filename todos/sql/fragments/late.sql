-- Claimable although not pending: a lapsed lease below the cap, or a due retry. Few, as the reaper
-- takes them; one bitmap over todos_lease_idx and todos_retry_idx finds both.
((t.state = 'claimed' AND t.lease_expires_at < statement_timestamp()
  AND t.attempt < t.max_attempts)
 OR (t.state = 'failed' AND t.next_retry_at <= statement_timestamp()))
AND t.endpoint_id = e.id AND t.queue = ANY (e.queues)
AND COALESCE(t.assignee, '') IN ('', %(owner)s)
