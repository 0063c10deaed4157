-- Whether the endpoint of `t` is active; looked up row by row, since a join may make the planner
-- sort all that is due for every batch.
(SELECT {{active}} FROM endpoints e WHERE e.id = t.endpoint_id)
