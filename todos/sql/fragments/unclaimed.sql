-- Every state but claimed; the same words as in the predicates of todos_unclaimed_queue_idx and
-- todos_unclaimed_title_idx, which are for those alone who say that an id is not empty.
t.state IN ('pending', 'input-required', 'auth-required', 'failed', 'done', 'canceled', 'rejected')
AND t.id > ''
