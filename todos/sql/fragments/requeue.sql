-- Where a reaped todo goes: back to the queue, or at the cap to the dead letters. Its result
-- stays either way, for the next claimant or, under a name, beside the cause.
state = CASE WHEN c.at_cap THEN 'failed' ELSE 'pending' END,
completed_at = CASE WHEN c.at_cap THEN statement_timestamp() END,
owner = NULL, lease_expires_at = NULL, interrupted_at = NULL, updated_at = statement_timestamp()
