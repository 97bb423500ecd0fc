-- A log over several databases, its shards. The one with the number 0 is the home: it keeps what is shared.

-- The log of which this database is a shard; no row if it is a log of its own.
CREATE TABLE shard (
	one    SMALLINT PRIMARY KEY CHECK (one = 1),
	log    BYTEA    NOT NULL,
	number SMALLINT NOT NULL
);

-- In the home: the shards, and the position of each in its timeline up to which shard_timeline has it.
-- name is the address without user and password.
CREATE TABLE shards (
	number SMALLINT PRIMARY KEY,
	name   BYTEA    NOT NULL,
	merged BIGINT   NOT NULL
);

-- In the home: the shard of each owner that has or had tasks.
CREATE TABLE shard_owners (
	owner  BYTEA    PRIMARY KEY,
	number SMALLINT NOT NULL
);
CREATE INDEX shard_owners_number ON shard_owners (number);

-- In the home: the timeline of all shards. A row holds n moments of a shard, which begin at the position
-- first of its own timeline.
CREATE TABLE shard_timeline (
	seq    BIGINT   PRIMARY KEY,
	n      BIGINT   NOT NULL,
	number SMALLINT NOT NULL,
	first  BIGINT   NOT NULL
);

-- The time of a commit in microseconds, by which the timelines of shards are merged.
ALTER TABLE timeline ADD COLUMN at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE moments ADD COLUMN at BIGINT NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
