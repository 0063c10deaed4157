-- The caller holds the lease, with the token if it was fenced; an operator needs neither.
(%(endpoint)s::uuid IS NULL
 OR (h.owner = %(owner)s AND h.lease_token_hash IS NOT DISTINCT FROM %(token)s::bytea))
