-- Attempts by the beginning of their todo's id, the newest todo and attempt first: as search.sql.
-- Index: todo_attempts_seq_unique.
SELECT w.id
FROM unnest(%(starts)s::text[]) s (start)
CROSS JOIN LATERAL (
    SELECT a.id, a.todo_id, a.seq, COALESCE(a.outcome, 'open') AS outcome FROM todo_attempts a
    WHERE a.todo_id < s.start || chr(1114111)
    ORDER BY a.todo_id DESC, a.seq DESC LIMIT %(window)s
) w
WHERE w.todo_id >= s.start
  AND (%(outcomes)s::text[] IS NULL OR w.outcome = ANY (%(outcomes)s::text[]))
ORDER BY w.todo_id DESC, w.seq DESC
LIMIT %(limit)s
