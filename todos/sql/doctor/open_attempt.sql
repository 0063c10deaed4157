-- Invariant 1: claimed or waiting ⇔ exactly one open attempt; any other state ⇔ none.
SELECT t.id, concat('is ', t.state, ' with ', COALESCE(o.open, 0), ' open attempts')
FROM todos t
LEFT JOIN (SELECT a.todo_id, count(*) AS open FROM todo_attempts a
           WHERE a.ended_at IS NULL GROUP BY a.todo_id) o ON o.todo_id = t.id
WHERE COALESCE(o.open, 0) <>
      CASE WHEN t.state IN ('claimed', 'input-required', 'auth-required') THEN 1 ELSE 0 END
ORDER BY t.id
