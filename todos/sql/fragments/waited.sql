-- How long the wait of a row of `due` had lasted, in seconds.
EXTRACT(EPOCH FROM statement_timestamp() - d.waited_since)::double precision
