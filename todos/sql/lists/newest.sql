-- The newest todos. Index: the primary key, whose order is that of creation.
SELECT t.id FROM todos t ORDER BY t.id DESC LIMIT %(limit)s
