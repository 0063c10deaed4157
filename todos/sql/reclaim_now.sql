-- reclaim now: as the sweep, one wait, whatever its age. Guard: an active endpoint.
-- Lock: the todo, waiting.
WITH {{held}}, endpoint AS MATERIALIZED (
    SELECT {{active}} AS active
    FROM held h JOIN endpoints e ON e.id = h.endpoint_id
), due AS MATERIALIZED (
    SELECT h.id, h.queue, h.state, h.attempts_total, h.attempt >= h.max_attempts AS at_cap,
           h.interrupted_at AS waited_since
    FROM held h JOIN endpoint e ON e.active
    WHERE h.state IN ('input-required', 'auth-required') AND NOT h.unseen
), {{reclaim}}, {{count_reaped}}
SELECT {{found}}, (SELECT e.active FROM endpoint e), (SELECT {{waited}} FROM due d),
       {{todo}}
FROM held h LEFT JOIN written t ON true
