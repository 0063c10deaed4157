-- An endpoint is active while it is neither revoked nor expired, by the database's clock.
(e.revoked_at IS NULL AND (e.expires_at IS NULL OR e.expires_at > statement_timestamp()))
