-- The row that reap_leases.sql would take next.
WITH {{due_leases}} SELECT d.id FROM due d
