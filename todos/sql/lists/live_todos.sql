-- How many live todos an endpoint has, counted no further than the limit. Index: todos_live_idx.
SELECT count(*)
FROM (SELECT FROM todos t WHERE t.endpoint_id = %(endpoint)s::uuid AND {{live}}
      LIMIT %(limit)s) counted
