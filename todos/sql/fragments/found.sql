-- What the statement found under its lock, in the order of run.Found.
h.state, h.next_retry_at IS NOT NULL, h.owner, h.unseen
