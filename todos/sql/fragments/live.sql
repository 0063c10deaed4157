-- Work that is not over; the same words as in the predicate of todos_live_idx, which is for those
-- alone who say that an id is not empty.
(t.state IN ('pending', 'claimed', 'input-required', 'auth-required')
 OR (t.next_retry_at IS NOT NULL AND t.state = 'failed'))
AND t.id > ''
