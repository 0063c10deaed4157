-- Marks the endpoints whose time is over. Index: endpoints_expiry_idx.
UPDATE endpoints e
SET revoked_at = statement_timestamp()
WHERE e.revoked_at IS NULL AND e.expires_at <= statement_timestamp()
