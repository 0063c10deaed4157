-- Deletes the oldest closed attempts of a todo beyond the bound, and tallies them.
-- Lock: the todo, then the tallies, last.
WITH locked AS MATERIALIZED (
    SELECT t.id, t.queue, t.attempts_total - t.attempts_pruned - %(keep)s::integer AS excess
    FROM todos t
    WHERE t.id = %(id)s
    FOR NO KEY UPDATE
), gone AS (
    DELETE FROM todo_attempts a
    USING locked l
    WHERE a.todo_id = l.id AND a.ended_at IS NOT NULL
      AND a.seq IN (SELECT o.seq FROM todo_attempts o
                    WHERE o.todo_id = l.id AND o.ended_at IS NOT NULL
                    ORDER BY o.seq LIMIT GREATEST(l.excess, 0))
    RETURNING a.outcome, a.ended_from
), counted AS (
    UPDATE todos t
    SET attempts_pruned = t.attempts_pruned + (SELECT count(*) FROM gone)
    FROM locked l
    WHERE t.id = l.id
)
INSERT INTO todo_attempt_tallies AS tally (queue, outcome, ended_from, count)
SELECT l.queue, g.outcome, g.ended_from, count(*)
FROM gone g CROSS JOIN locked l
GROUP BY l.queue, g.outcome, g.ended_from
ORDER BY l.queue, g.outcome, g.ended_from
ON CONFLICT (queue, outcome, ended_from) DO UPDATE SET count = tally.count + EXCLUDED.count
