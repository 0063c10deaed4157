-- reclaim a lapsed wait: input-required or auth-required → pending, or at the cap a dead letter.
-- Guard: its own clock, `interrupted_at`, and the TTL; an active endpoint. Lock: SKIP LOCKED.
-- Index: todos_interrupted_idx. Full join: as in reap_leases.sql.
WITH {{due_waits}}, {{reclaim}}, {{count_reaped}}
SELECT d.id, t.id, {{waited}}, {{todo_light}}
FROM due d FULL JOIN written t ON t.id = d.id
