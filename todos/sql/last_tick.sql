-- When the last good tick began, in seconds since the epoch.
SELECT EXTRACT(EPOCH FROM r.last_success_at)::double precision FROM reaper_ticks r
