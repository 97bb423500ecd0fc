-- Envelopes that their queues have given up. Times are milliseconds since 1970, UTC; seq is
-- the order in which they came.
CREATE TABLE letters (
	seq      INTEGER PRIMARY KEY,
	id       TEXT    NOT NULL UNIQUE,
	queue    TEXT    NOT NULL,
	reason   TEXT    NOT NULL,
	at       INTEGER NOT NULL,
	type     TEXT    NOT NULL,
	source   TEXT    NOT NULL,
	task     TEXT    NOT NULL,
	owner    TEXT    NOT NULL,
	size     INTEGER NOT NULL,
	envelope BLOB    NOT NULL
) STRICT;
