-- The pending todos of one queue for one assignee, oldest first: a walk along todos_pending_idx.
t.state = 'pending' AND t.endpoint_id = e.id AND t.queue = h.queue
AND COALESCE(t.assignee, '') = h.assignee
