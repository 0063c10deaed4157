-- What a tick would do to all waits under two interrupt TTLs, in one snapshot and at one moment;
-- writes nothing. A wait without a stamp counts from updated_at, as the tick would stamp it.
-- Index: todos_interrupted_idx, once for all waits and once more for the oldest.
WITH waits AS (
    SELECT t.endpoint_id, t.queue, t.attempt >= t.max_attempts AS at_cap,
           COALESCE(t.interrupted_at, t.updated_at) AS interrupted_at
    FROM todos t
    WHERE t.state IN ('input-required', 'auth-required')
), told AS (
    SELECT t.endpoint_id, t.queue, t.at_cap, t.interrupted_at, {{lapsed_wait}} AS due_before
    FROM waits t CROSS JOIN (SELECT %(before)s::bigint) ttl (seconds)
), counted AS (
    SELECT t.endpoint_id, t.queue, t.at_cap, count(*) AS waits, min(t.interrupted_at) AS since,
           width_bucket(date_part('epoch', statement_timestamp() - t.interrupted_at),
                        %(edges)s::float8[]) AS bucket,
           count(*) FILTER (WHERE t.due_before) AS due_before,
           count(*) FILTER (WHERE {{lapsed_wait}}) AS due_after
    FROM told t CROSS JOIN (SELECT %(after)s::bigint) ttl (seconds)
    GROUP BY t.endpoint_id, t.queue, t.at_cap, bucket
), judged AS (
    SELECT {{of_active}} AS active, t.queue, t.at_cap, t.bucket, t.waits, t.since, t.due_before,
           t.due_after
    FROM counted t
), grouped AS (
    SELECT j.active, j.queue, j.at_cap, j.bucket, sum(j.waits)::bigint AS waits,
           min(j.since) AS since, sum(j.due_before)::bigint AS due_before,
           sum(j.due_after)::bigint AS due_after
    FROM judged j
    GROUP BY j.active, j.queue, j.at_cap, j.bucket
), longest AS (
    SELECT min(g.since) AS since FROM grouped g WHERE g.active
), oldest AS (
    SELECT t.id, t.queue, t.owner
    FROM todos t CROSS JOIN longest l
    WHERE t.state IN ('input-required', 'auth-required')
      AND t.interrupted_at = l.since AND {{of_active}}
    UNION ALL
    SELECT t.id, t.queue, t.owner
    FROM todos t CROSS JOIN longest l
    WHERE t.state IN ('input-required', 'auth-required')
      AND t.interrupted_at IS NULL AND t.updated_at = l.since AND {{of_active}}
    LIMIT 1
)
SELECT statement_timestamp(), o.id, o.queue, o.owner, g.active, g.queue, g.at_cap, g.bucket,
       g.waits, g.due_before, g.due_after, date_part('epoch', statement_timestamp() - g.since)
FROM (SELECT) one LEFT JOIN grouped g ON true LEFT JOIN oldest o ON true
