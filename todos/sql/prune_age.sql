-- The time that many days ago.
SELECT statement_timestamp() - make_interval(days => %(days)s::integer)
