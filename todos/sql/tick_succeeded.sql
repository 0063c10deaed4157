-- Records the beginning of a good tick.
INSERT INTO reaper_ticks (id, last_success_at) VALUES (1, %(began)s)
ON CONFLICT (id) DO UPDATE SET last_success_at = EXCLUDED.last_success_at
