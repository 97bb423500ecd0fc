-- Webhooks of tasks: readers of the log with a durable position.
CREATE TABLE hooks (
	task       INTEGER NOT NULL REFERENCES tasks (key),
	id         TEXT    NOT NULL,
	url        TEXT    NOT NULL,
	dialect    INTEGER NOT NULL,
	scheme     TEXT    NOT NULL,
	secret     BLOB, -- sealed
	created_at INTEGER NOT NULL,
	told       INTEGER NOT NULL, -- version up to which it has been told
	settled    INTEGER NOT NULL  -- 1 when nothing will be left to tell
) STRICT;
CREATE UNIQUE INDEX hooks_ref ON hooks (task, id);

-- The work at start costs what there is to tell, however many hooks are settled.
CREATE INDEX hooks_unsettled ON hooks (task, id) WHERE settled = 0;

-- Runs of versions that a hook was not told.
CREATE TABLE dead_letters (
	task     INTEGER NOT NULL,
	hook     TEXT    NOT NULL,
	first    INTEGER NOT NULL,
	last     INTEGER NOT NULL,
	at       INTEGER NOT NULL,
	attempts INTEGER NOT NULL,
	reason   TEXT    NOT NULL,
	PRIMARY KEY (task, hook, first)
) STRICT, WITHOUT ROWID;
