-- The row that prune_dead.sql would take next.
WITH {{old_dead}} SELECT o.id FROM old o
