-- Retention of dead letters. Lock: SKIP LOCKED, so that a retry which comes first wins.
-- Index: todos_dead_idx.
WITH {{old_dead}}, {{prune}}
