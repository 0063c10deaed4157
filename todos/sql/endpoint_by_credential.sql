-- The active endpoint whose credential has this hash. Index: the unique one on credential_hash; how
-- long the search takes tells of the hash alone, and of a hash nobody can choose the beginning.
-- Every request asks it, so that a revocation counts at once.
SELECT e.id, e.name, e.queues, e.verbs, e.default_lease_ttl_seconds, e.created_at, e.expires_at
FROM endpoints e
WHERE e.credential_hash = %(hash)s::bytea AND {{active}}
