-- The number of the newest set of members to whose shares of work a member keeps. Work is handed over when all
-- members have stated it, which earlier versions do not.
ALTER TABLE hubs ADD COLUMN view BIGINT NOT NULL DEFAULT 0;
UPDATE sequence SET least = 11;
