-- Whether the last good tick began less than 15 s ago. A stamp from the future, left by a clock
-- that was set back, does not count.
SELECT EXISTS (
    SELECT FROM reaper_ticks r
    WHERE r.last_success_at BETWEEN statement_timestamp() - interval '15 seconds'
                                AND statement_timestamp()
)
