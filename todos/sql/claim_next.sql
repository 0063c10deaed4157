-- claim_next: the oldest claimable todo of the given queues → claimed.
-- Guard: as claim.sql. Lock: one todo, SKIP LOCKED.
-- Index: todos_pending_idx for the head of each queue, for this owner and for nobody in
-- particular; todos_lease_idx and todos_retry_idx for the few that lapsed or are due.
-- `heads` looks without locking, so that no queue's head is hidden from other claimers; then
-- the places are tried from the oldest head on, until one yields a row that nobody else locks.
-- A place is walked from its head on: before it are only the entries of what was claimed.
WITH endpoint AS MATERIALIZED (
    SELECT e.id, COALESCE(%(queues)s::text[], e.queues::text[]) AS queues, {{active}} AS active,
           COALESCE(%(queues)s::text[] <@ e.queues::text[], true) AS granted
    FROM endpoints e
    WHERE e.id = %(endpoint)s::uuid
), heads AS MATERIALIZED (
    SELECT h.queue, h.assignee, f.created_at, f.id
    FROM endpoint e
    CROSS JOIN LATERAL (
        SELECT q.queue, w.assignee
        FROM unnest(e.queues) q (queue), (VALUES (''), (%(owner)s)) w (assignee)
    ) h
    CROSS JOIN LATERAL (
        SELECT t.created_at, t.id FROM todos t WHERE {{head}}
        ORDER BY t.created_at, t.id LIMIT 1
    ) f
    WHERE e.active AND e.granted
    UNION ALL
    SELECT NULL, NULL, f.created_at, f.id
    FROM endpoint e
    CROSS JOIN LATERAL (
        SELECT t.created_at, t.id FROM todos t WHERE {{late}}
        ORDER BY t.created_at, t.id LIMIT 1
    ) f
    WHERE e.active AND e.granted
), chosen AS MATERIALIZED (
    SELECT f.id, f.state, f.attempts_total
    FROM (SELECT * FROM heads ORDER BY created_at, id) h
    CROSS JOIN endpoint e
    CROSS JOIN LATERAL (
        SELECT * FROM (
            SELECT t.id, t.state, t.attempts_total FROM todos t
            WHERE {{head}} AND (t.created_at, t.id) >= (h.created_at, h.id)
            ORDER BY t.created_at, t.id LIMIT 1
            FOR NO KEY UPDATE SKIP LOCKED
        ) pending
        UNION ALL
        SELECT * FROM (
            SELECT t.id, t.state, t.attempts_total FROM todos t
            WHERE h.queue IS NULL AND {{late}} AND {{ledger_seen}}
            ORDER BY t.created_at, t.id LIMIT 1
            FOR NO KEY UPDATE SKIP LOCKED
        ) late
    ) f
    LIMIT 1
), {{take}}
SELECT e.active, e.granted, ARRAY(SELECT h.id FROM heads h ORDER BY h.id), t.*
FROM endpoint e LEFT JOIN written t ON true
