-- Invariant 5: no live todo belongs to an endpoint whose revocation has finished.
SELECT t.id, concat('is ', t.state, ' under endpoint ', e.id, ', whose revocation has finished')
FROM endpoints e JOIN todos t ON t.endpoint_id = e.id
WHERE e.revocation_finished_at IS NOT NULL AND {{live}}
ORDER BY t.id
