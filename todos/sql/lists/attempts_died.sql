-- Attempts whose holder never reported, the newest first: a merge of two walks along
-- todo_attempts_outcome_idx, each ordered and bounded itself.
(SELECT a.id FROM todo_attempts a WHERE a.outcome = 'lease_expired'
 ORDER BY a.id DESC LIMIT %(limit)s)
UNION ALL
(SELECT a.id FROM todo_attempts a WHERE a.outcome = 'reaped' ORDER BY a.id DESC LIMIT %(limit)s)
ORDER BY id DESC
LIMIT %(limit)s
