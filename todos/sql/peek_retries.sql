-- The row that requeue_due.sql would take next.
WITH {{due_retries}} SELECT d.id FROM due d
