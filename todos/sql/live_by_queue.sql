-- Live todos per queue and state, and the age in seconds of the oldest pending and waiting one.
-- Index: todos_live_idx. Its reader forbids all but a bitmap scan, so that what a scrape costs
-- does not depend on how many todos are done.
SELECT t.queue, t.state, count(*),
       EXTRACT(EPOCH FROM statement_timestamp() - min(
           CASE t.state WHEN 'pending' THEN t.created_at
                        ELSE COALESCE(t.interrupted_at, t.updated_at) END))::double precision
FROM todos t
WHERE {{live}}
GROUP BY t.queue, t.state
