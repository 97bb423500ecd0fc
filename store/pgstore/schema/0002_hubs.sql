-- Hubs that use the database at the same time. epoch is that of sequence when the hub joined; a
-- hub that was lost joins with another one. lease_until is by the clock of the database. ended is
-- 0 while the hub is a member, 1 once it has left, 2 once its lease has ended. holder names the
-- process in the runs of tasks.
CREATE TABLE hubs (
	epoch       BIGINT   PRIMARY KEY,
	id          BYTEA    NOT NULL,
	holder      BYTEA    NOT NULL,
	version     BYTEA    NOT NULL,
	config      BYTEA    NOT NULL,
	address     BYTEA    NOT NULL,
	joined_at   BIGINT   NOT NULL,
	lease_until BIGINT   NOT NULL,
	tasks       BIGINT   NOT NULL,
	ended       SMALLINT NOT NULL,
	drain       SMALLINT NOT NULL -- 1 once an operator has asked it to leave
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX hubs_id ON hubs (id) WHERE ended = 0;

-- Each transaction that writes locks the row of sequence. writer is the epoch of the hub that
-- wrote last, and members counts the hubs that have joined or ended.
ALTER TABLE sequence ADD COLUMN writer BIGINT NOT NULL DEFAULT 0, ADD COLUMN members BIGINT NOT NULL DEFAULT 0;
