-- Invariant 3: attempts_total = attempts kept + attempts_pruned.
SELECT t.id, concat('has attempts_total ', t.attempts_total, ', keeps ', COALESCE(k.kept, 0),
                    ' and pruned ', t.attempts_pruned)
FROM todos t
LEFT JOIN (SELECT a.todo_id, count(*) AS kept FROM todo_attempts a GROUP BY a.todo_id) k
       ON k.todo_id = t.id
WHERE t.attempts_total <> COALESCE(k.kept, 0) + t.attempts_pruned
ORDER BY t.id
