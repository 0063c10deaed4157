-- What a tick would do now, per cause, queue and outcome; writes nothing. What it would do to
-- waits is ttl_effect.sql's.
SELECT 'lapsed lease' AS cause, t.queue,
       CASE WHEN t.attempt >= t.max_attempts THEN 'dead letter' ELSE 'pending' END AS outcome,
       count(*)
FROM todos t JOIN endpoints e ON e.id = t.endpoint_id
WHERE t.state = 'claimed' AND t.lease_expires_at < statement_timestamp() AND {{active}}
GROUP BY 1, 2, 3
UNION ALL
SELECT 'due retry', t.queue, 'pending', count(*)
FROM todos t JOIN endpoints e ON e.id = t.endpoint_id
WHERE t.state = 'failed' AND t.next_retry_at IS NOT NULL
  AND t.next_retry_at <= statement_timestamp() AND {{active}}
GROUP BY 1, 2, 3
UNION ALL
SELECT 'ended endpoint', t.queue, 'dead letter', count(*)
FROM endpoints e JOIN todos t ON t.endpoint_id = e.id
WHERE NOT {{active}} AND e.revocation_finished_at IS NULL AND {{live}}
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3
