-- Records the beginning of a good tick, which took so many seconds.
INSERT INTO reaper_ticks (id, last_success_at)
VALUES (1, statement_timestamp() - make_interval(secs => %(took)s::double precision))
ON CONFLICT (id) DO UPDATE SET last_success_at = EXCLUDED.last_success_at
