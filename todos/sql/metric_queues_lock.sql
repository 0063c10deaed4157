-- One at a time: the order of appearance must be the order of commits, or a queue that metrics
-- have named could lose its name.
LOCK TABLE metric_queues IN SHARE ROW EXCLUSIVE MODE
