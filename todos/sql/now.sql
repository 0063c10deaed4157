-- The database's clock, by which every deadline is decided.
SELECT statement_timestamp()
