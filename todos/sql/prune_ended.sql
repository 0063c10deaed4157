-- Retention of done, canceled and rejected todos. Lock: SKIP LOCKED. Index: todos_ended_idx.
WITH {{old_ended}}, {{prune}}
