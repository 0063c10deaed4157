-- The row that reclaim_waits.sql would take next.
WITH {{due_waits}} SELECT d.id FROM due d
