-- Todos by the beginning of their id, or of their title unless they are claimed, anywhere; by a part
-- of the title among the newest and among the claimed ones whose lease lapses first; the newest
-- first. Nothing is read beyond the windows, however much matches. As in queue_newest.sql each walk
-- has one end alone, and what lies before the beginning is dropped.
-- Index: the primary key, todos_unclaimed_title_idx, todos_lease_idx.
WITH by_id AS MATERIALIZED (
    SELECT m.id, m.queue, m.condition
    FROM unnest(%(starts)s::text[]) s (start)
    CROSS JOIN LATERAL (
        SELECT t.id, t.queue, {{condition}} AS condition FROM todos t
        WHERE t.id < s.start || chr(1114111)
        ORDER BY t.id DESC LIMIT %(window)s
    ) m
    WHERE m.id >= s.start
), by_title AS MATERIALIZED (
    SELECT m.id, m.queue, m.condition
    FROM (SELECT t.id, t.queue, t.title, {{condition}} AS condition FROM todos t
          WHERE upper(t.title) COLLATE "C" < upper(%(search)s::text) || chr(1114111)
            AND {{unclaimed}}
          ORDER BY upper(t.title) COLLATE "C" DESC LIMIT %(window)s) m
    WHERE upper(m.title) COLLATE "C" >= upper(%(search)s::text)
), by_word AS MATERIALIZED (
    SELECT m.id, m.queue, m.condition
    FROM ((SELECT t.id, t.queue, t.title, {{condition}} AS condition FROM todos t
           ORDER BY t.id DESC LIMIT %(among)s)
          UNION ALL
          (SELECT t.id, t.queue, t.title, t.state FROM todos t
           WHERE t.state = 'claimed'
           ORDER BY t.lease_expires_at LIMIT %(among)s)) m
    WHERE strpos(upper(m.title), upper(%(search)s::text)) > 0
)
SELECT f.id
FROM (TABLE by_id UNION TABLE by_title UNION TABLE by_word) f
WHERE (%(queue)s::text IS NULL OR f.queue = %(queue)s)
  AND (%(conditions)s::text[] IS NULL OR f.condition = ANY (%(conditions)s::text[]))
ORDER BY f.id DESC
LIMIT %(limit)s
