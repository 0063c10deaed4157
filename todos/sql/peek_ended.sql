-- The row that prune_ended.sql would take next.
WITH {{old_ended}} SELECT o.id FROM old o
