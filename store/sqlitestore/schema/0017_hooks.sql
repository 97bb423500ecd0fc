-- The version up to which a webhook has been notified.
ALTER TABLE hooks RENAME COLUMN told TO delivered;
