-- Whether a wait `t` has lapsed under the interrupt TTL `ttl` (ADR-0046); a TTL of NULL is never.
-- The sweep and what tells of it beforehand have this one wording.
(t.interrupted_at < statement_timestamp() - make_interval(secs => ttl.seconds))
