-- Names that repeat are kept once, and rows hold their numbers.

CREATE TABLE owners (
	id   INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE
) STRICT;

-- A scope is an owner together with an agent.
CREATE TABLE scopes (
	id    INTEGER PRIMARY KEY,
	owner INTEGER NOT NULL REFERENCES owners (id),
	agent TEXT NOT NULL,
	UNIQUE (owner, agent)
) STRICT;

-- Heads. Times are milliseconds since 1970, UTC; 0 means never. What statements ask
-- for has a column. The rest of a head is one blob, because each column costs on
-- every way in and out. Ids are 16 bytes if they are UUIDs, and text otherwise.
CREATE TABLE tasks (
	key        INTEGER PRIMARY KEY,
	owner      INTEGER NOT NULL REFERENCES owners (id),
	scope      INTEGER NOT NULL REFERENCES scopes (id),
	id         ANY     NOT NULL,
	context    ANY     NOT NULL,
	shown      INTEGER NOT NULL, -- 0 to the caller, 1 quiet, 2 answered
	state      INTEGER NOT NULL, -- number of the protocol's TaskState
	status_at  INTEGER NOT NULL,
	ended      INTEGER NOT NULL, -- when it ended or was answered; 0 while open
	due        INTEGER NOT NULL, -- 1 while it has something to do for the hub
	rev        INTEGER NOT NULL,
	version    INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	rest       BLOB    NOT NULL
) STRICT;

-- Ids and contexts come first, because they are mostly made in the order of time:
-- the tasks of a commit then stand on few pages, however many owners they have.
CREATE UNIQUE INDEX tasks_id ON tasks (id, owner);

-- Lists of an owner: one ordered run for each agent and state, merged by readers.
CREATE INDEX tasks_list ON tasks (scope, state, status_at) WHERE shown = 0;

-- Lists of a context.
CREATE INDEX tasks_context ON tasks (context, owner, shown, status_at);

CREATE INDEX tasks_due ON tasks (key) WHERE due = 1;
CREATE INDEX tasks_ended ON tasks (ended) WHERE ended > 0;

-- Interrupted tasks: the newest of a context, and the oldest of all.
CREATE INDEX tasks_interrupted ON tasks (scope, context, status_at) WHERE state IN (6, 8);
CREATE INDEX tasks_stale ON tasks (status_at) WHERE state IN (6, 8);

-- How many tasks that are shown there are of each scope and state.
CREATE TABLE counters (
	scope INTEGER NOT NULL REFERENCES scopes (id),
	state INTEGER NOT NULL,
	n     INTEGER NOT NULL,
	PRIMARY KEY (scope, state)
) STRICT, WITHOUT ROWID;

-- The log. A row holds the entries that were appended together. Its place is the
-- key of the task, and in the lowest 24 bits the first version: one number, because
-- a table by number is flat, and one by two columns has whole rows in its branches.
CREATE TABLE entries (
	place INTEGER PRIMARY KEY,
	data  BLOB NOT NULL
) STRICT;

-- Deleted tasks of which entries are left.
CREATE TABLE doomed (
	task INTEGER PRIMARY KEY
) STRICT;

CREATE TABLE snapshots (
	task    INTEGER PRIMARY KEY REFERENCES tasks (key),
	version INTEGER NOT NULL,
	data    BLOB    NOT NULL
) STRICT;

-- Keys below next_key were given out, and are not used again. probes counts the
-- trials of whether the file can be written.
CREATE TABLE sequence (
	one      INTEGER PRIMARY KEY CHECK (one = 1),
	next_key INTEGER NOT NULL,
	probes   INTEGER NOT NULL
) STRICT;
INSERT INTO sequence VALUES (1, 1, 0);

-- Delegation: who asked for a task on behalf of which other task.
CREATE TABLE lineage (
	task     INTEGER PRIMARY KEY REFERENCES tasks (key),
	parent   INTEGER NOT NULL,
	root     INTEGER NOT NULL,
	hops     INTEGER NOT NULL,
	deadline INTEGER NOT NULL
) STRICT;
CREATE INDEX lineage_parent ON lineage (parent);
CREATE INDEX lineage_deadline ON lineage (deadline) WHERE deadline > 0;

-- What a run wants to know when it is resumed.
CREATE TABLE checkpoints (
	task  INTEGER PRIMARY KEY REFERENCES tasks (key),
	epoch INTEGER NOT NULL,
	data  BLOB    NOT NULL
) STRICT;

-- Requests that must not be executed twice.
CREATE TABLE requests (
	owner       INTEGER NOT NULL REFERENCES owners (id),
	key         TEXT    NOT NULL,
	fingerprint BLOB    NOT NULL,
	task        INTEGER NOT NULL REFERENCES tasks (key),
	at          INTEGER NOT NULL,
	PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX requests_task ON requests (task);

-- Tasks by the message ids that callers chose.
CREATE TABLE messages (
	owner INTEGER NOT NULL REFERENCES owners (id),
	id    TEXT    NOT NULL,
	task  INTEGER NOT NULL REFERENCES tasks (key),
	PRIMARY KEY (owner, id, task)
) STRICT, WITHOUT ROWID;
CREATE INDEX messages_task ON messages (task);
