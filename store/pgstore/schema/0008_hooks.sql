-- The version up to which a webhook has been notified. Earlier versions do not find the column.
ALTER TABLE hooks RENAME COLUMN told TO delivered;
UPDATE sequence SET least = 8;
