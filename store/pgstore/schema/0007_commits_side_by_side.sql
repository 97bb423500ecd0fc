-- Hubs commit at the same time: a usual commit changes no row that the commit of another hub changes.

-- A hub takes the keys of new tasks in blocks. They are not used again.
CREATE SEQUENCE task_keys INCREMENT BY 4096;
SELECT setval('task_keys', (SELECT next_key FROM sequence), false);
ALTER TABLE sequence DROP COLUMN next_key, DROP COLUMN writer, DROP COLUMN members;

-- Each member counts its changes in rows of its own; readers add them up. slot is 0 for a hub that is
-- alone in the database.
ALTER TABLE hubs ADD COLUMN slot SMALLINT NOT NULL DEFAULT 0;
ALTER TABLE counters ADD COLUMN slot SMALLINT NOT NULL DEFAULT 0;
ALTER TABLE counters DROP CONSTRAINT counters_pkey, ADD PRIMARY KEY (scope, state, slot);

-- The moments of commits that have no position in the timeline yet, one row a commit. They get it after
-- the commit, in the order of id: a later change of a task has a higher one.
CREATE TABLE moments (
	id   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	n    BIGINT NOT NULL,
	data BYTEA  NOT NULL
) WITH (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);

UPDATE sequence SET least = 7;
