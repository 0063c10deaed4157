-- Marks an endpoint: from its commit on nothing can be created, claimed or retried there.
-- Lock: the endpoint, which waits for creates that hold it FOR SHARE.
UPDATE endpoints e
SET revoked_at = statement_timestamp()
WHERE e.id = %(endpoint)s::uuid AND e.revoked_at IS NULL
