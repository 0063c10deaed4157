-- claim_next: the oldest claimable todo of the given queues → claimed.
-- Guard: as claim.sql. Lock: one todo, SKIP LOCKED.
-- Index: todos_pending_idx for the head of each queue, for this owner and for nobody in
-- particular; todos_lease_idx and todos_retry_idx for the few that lapsed or are due.
-- `heads` looks without locking, so that no queue's head is hidden from other claimers; then
-- the places are tried from the oldest head on, until one yields a row that nobody else locks.
WITH endpoint AS MATERIALIZED (
    SELECT e.id, COALESCE(%(queues)s::text[], e.queues::text[]) AS queues, {{active}} AS active,
           COALESCE(%(queues)s::text[] <@ e.queues::text[], true) AS granted
    FROM endpoints e
    WHERE e.id = %(endpoint)s::uuid
), heads AS MATERIALIZED (
    SELECT 'pending' AS place, q.queue, w.assignee, head.created_at, head.id
    FROM endpoint e
    CROSS JOIN unnest(e.queues) AS q (queue)
    CROSS JOIN (VALUES (''), (%(owner)s)) AS w (assignee)
    CROSS JOIN LATERAL (
        SELECT t.created_at, t.id
        FROM todos t
        WHERE t.state = 'pending' AND t.endpoint_id = e.id AND t.queue = q.queue
          AND COALESCE(t.assignee, '') = w.assignee
        ORDER BY t.created_at, t.id
        LIMIT 1
    ) head
    WHERE e.active AND e.granted
    UNION ALL
    SELECT 'lapsed', NULL, NULL, head.created_at, head.id
    FROM endpoint e
    CROSS JOIN LATERAL (
        SELECT t.created_at, t.id
        FROM todos t
        WHERE t.state = 'claimed' AND t.lease_expires_at < statement_timestamp()
          AND t.endpoint_id = e.id AND t.queue = ANY (e.queues) AND t.attempt < t.max_attempts
          AND COALESCE(t.assignee, '') IN ('', %(owner)s)
        ORDER BY t.created_at, t.id
        LIMIT 1
    ) head
    WHERE e.active AND e.granted
    UNION ALL
    SELECT 'due', NULL, NULL, head.created_at, head.id
    FROM endpoint e
    CROSS JOIN LATERAL (
        SELECT t.created_at, t.id
        FROM todos t
        WHERE t.state = 'failed' AND t.next_retry_at IS NOT NULL
          AND t.next_retry_at <= statement_timestamp()
          AND t.endpoint_id = e.id AND t.queue = ANY (e.queues)
          AND COALESCE(t.assignee, '') IN ('', %(owner)s)
        ORDER BY t.created_at, t.id
        LIMIT 1
    ) head
    WHERE e.active AND e.granted
), chosen AS MATERIALIZED (
    SELECT free.id, free.state, free.attempts_total
    FROM (SELECT * FROM heads ORDER BY created_at, id) h
    CROSS JOIN endpoint e
    CROSS JOIN LATERAL (
        SELECT * FROM (
            SELECT t.id, t.state, t.attempts_total
            FROM todos t
            WHERE h.place = 'pending'
              AND t.state = 'pending' AND t.endpoint_id = e.id AND t.queue = h.queue
              AND COALESCE(t.assignee, '') = h.assignee
            ORDER BY t.created_at, t.id
            LIMIT 1
            FOR NO KEY UPDATE SKIP LOCKED
        ) pending
        UNION ALL
        SELECT * FROM (
            SELECT t.id, t.state, t.attempts_total
            FROM todos t
            WHERE h.place = 'lapsed'
              AND t.state = 'claimed' AND t.lease_expires_at < statement_timestamp()
              AND t.endpoint_id = e.id AND t.queue = ANY (e.queues)
              AND t.attempt < t.max_attempts AND COALESCE(t.assignee, '') IN ('', %(owner)s)
            ORDER BY t.created_at, t.id
            LIMIT 1
            FOR NO KEY UPDATE SKIP LOCKED
        ) lapsed
        UNION ALL
        SELECT * FROM (
            SELECT t.id, t.state, t.attempts_total
            FROM todos t
            WHERE h.place = 'due'
              AND t.state = 'failed' AND t.next_retry_at IS NOT NULL
              AND t.next_retry_at <= statement_timestamp()
              AND t.endpoint_id = e.id AND t.queue = ANY (e.queues)
              AND COALESCE(t.assignee, '') IN ('', %(owner)s)
            ORDER BY t.created_at, t.id
            LIMIT 1
            FOR NO KEY UPDATE SKIP LOCKED
        ) due
    ) free
    LIMIT 1
), {{take}}
SELECT e.active, e.granted, EXISTS (SELECT FROM chosen), {{todo}}
FROM endpoint e LEFT JOIN written t ON true
