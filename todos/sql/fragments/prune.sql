-- Deletes the todos of `old` with their attempts, which are tallied. Lock: the todos, then the
-- tallies, last.
attempts AS (
    DELETE FROM todo_attempts a USING old o
    WHERE a.todo_id = o.id
    RETURNING o.queue, a.outcome, a.ended_from
), gone AS (
    DELETE FROM todos t USING old o
    WHERE t.id = o.id
    RETURNING t.id
), tallied AS (
    INSERT INTO todo_attempt_tallies AS tally (queue, outcome, ended_from, count)
    SELECT a.queue, a.outcome, a.ended_from, count(*)
    FROM attempts a
    GROUP BY a.queue, a.outcome, a.ended_from
    ORDER BY a.queue, a.outcome, a.ended_from
    ON CONFLICT (queue, outcome, ended_from) DO UPDATE SET count = tally.count + EXCLUDED.count
)
SELECT o.id, g.id, (SELECT count(*) FROM attempts)
FROM old o LEFT JOIN gone g ON g.id = o.id
