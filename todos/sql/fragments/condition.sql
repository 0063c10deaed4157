-- A todo's state, a parked retry told apart from a dead letter.
(CASE WHEN t.next_retry_at IS NOT NULL AND t.state = 'failed' THEN 'parked' ELSE t.state END)
