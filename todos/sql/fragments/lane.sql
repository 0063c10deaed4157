-- A lane of the board from what was `looked` at: how many rows that were, how many of them belong
-- to the filter, since when the oldest of those is in its state, and the first ones by `place`.
matching AS MATERIALIZED (
    SELECT l.id, l.place, l.since FROM looked l
    WHERE l.fits AND (%(endpoint)s::uuid IS NULL OR l.endpoint_id = %(endpoint)s::uuid)
      AND (%(queue)s::text IS NULL OR l.queue = %(queue)s::text)
), summary AS (
    SELECT (SELECT count(*) FROM looked) AS looked, count(*) AS matching, min(m.since) AS oldest
    FROM matching m
), shown AS (
    SELECT m.id, m.place FROM matching m ORDER BY m.place, m.id LIMIT %(shown)s
)
SELECT s.looked, s.matching, s.oldest, t.id, t.state, t.title, t.queue, e.name, {{active}}, t.owner,
       t.attempt, t.max_attempts, t.created_at, t.claimed_at, t.lease_expires_at, t.interrupted_at,
       t.next_retry_at, t.completed_at, a.claimant, a.outcome, a.ended_from
FROM summary s
LEFT JOIN shown c ON true
LEFT JOIN todos t ON t.id = c.id
LEFT JOIN endpoints e ON e.id = t.endpoint_id
LEFT JOIN todo_attempts a ON a.todo_id = t.id AND a.seq = t.attempts_total
ORDER BY c.place, c.id
