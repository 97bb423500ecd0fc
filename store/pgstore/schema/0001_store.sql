-- Texts that callers choose are bytes: they may contain any byte, and neither the encoding nor
-- the collation of the database changes how they compare. Times are milliseconds since 1970, UTC;
-- 0 means never.

-- Names that repeat are kept once, and rows hold their numbers.
CREATE TABLE owners (
	id   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name BYTEA NOT NULL UNIQUE
);

-- A scope is an owner together with an agent.
CREATE TABLE scopes (
	id    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	owner BIGINT NOT NULL,
	agent BYTEA  NOT NULL,
	UNIQUE (owner, agent)
);

-- Heads. A field that statements use has a column; rest holds all fields without one, and
-- repeats some. An id is a zero byte and the 16 bytes of a UUID, or else "t" and the text. holder,
-- epoch and dispatch state which hub runs the task. Most changes set no column of an index: with
-- free space on each page they need no change of any index.
CREATE TABLE tasks (
	key        BIGINT   PRIMARY KEY,
	owner      BIGINT   NOT NULL,
	scope      BIGINT   NOT NULL,
	status_at  BIGINT   NOT NULL,
	ended      BIGINT   NOT NULL, -- when it ended or was answered; 0 while open
	rev        BIGINT   NOT NULL,
	version    BIGINT   NOT NULL,
	updated_at BIGINT   NOT NULL,
	epoch      BIGINT   NOT NULL,
	shown      SMALLINT NOT NULL, -- 0 to the caller, 1 quiet, 2 answered
	state      SMALLINT NOT NULL, -- number of the protocol's TaskState
	due        SMALLINT NOT NULL, -- 1 while the hub has work to do for it
	dispatch   SMALLINT NOT NULL, -- 0 without a run
	id         BYTEA    NOT NULL,
	context    BYTEA    NOT NULL,
	holder     BYTEA    NOT NULL,
	rest       BYTEA    NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);

CREATE UNIQUE INDEX tasks_id ON tasks (id, owner);

-- Lists of an owner: one ordered run for each agent and state, merged by readers.
CREATE INDEX tasks_list ON tasks (scope, state, status_at, key) WHERE shown = 0;

-- Lists of a context.
CREATE INDEX tasks_context ON tasks (context, owner, shown, status_at, key);

CREATE INDEX tasks_due ON tasks (key) WHERE due = 1;
CREATE INDEX tasks_ended ON tasks (ended) WHERE ended > 0;

-- Interrupted tasks: the newest of a context, and the oldest of all.
CREATE INDEX tasks_interrupted ON tasks (scope, context, status_at, key) WHERE state IN (6, 8);
CREATE INDEX tasks_stale ON tasks (status_at) WHERE state IN (6, 8);

-- The number of shown tasks of each scope and state.
CREATE TABLE counters (
	scope BIGINT   NOT NULL,
	state SMALLINT NOT NULL,
	n     BIGINT   NOT NULL,
	PRIMARY KEY (scope, state)
) WITH (fillfactor = 50);

-- The log. A row holds the entries that were appended together. Its place is the key of the task,
-- and in the lowest 24 bits the first version.
CREATE TABLE entries (
	place BIGINT PRIMARY KEY,
	data  BYTEA  NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.2);

-- Deleted tasks of which entries are left.
CREATE TABLE doomed (
	task BIGINT PRIMARY KEY
);

CREATE TABLE snapshots (
	task    BIGINT PRIMARY KEY,
	version BIGINT NOT NULL,
	data    BYTEA  NOT NULL
);

-- Keys below next_key were given out, and are not used again. epoch counts the hubs that have
-- opened the database, and probes the trials of whether it can be written.
CREATE TABLE sequence (
	one      SMALLINT PRIMARY KEY CHECK (one = 1),
	next_key BIGINT   NOT NULL,
	epoch    BIGINT   NOT NULL,
	probes   BIGINT   NOT NULL
) WITH (fillfactor = 50);
INSERT INTO sequence VALUES (1, 1, 0, 0);

-- Data beside a task: at most one row of each kind. place is the kind, shifted by 39 bits, and
-- the key of the task. parent repeats that of a lineage; it is 0 for other kinds.
CREATE TABLE sidecars (
	place  BIGINT PRIMARY KEY,
	parent BIGINT NOT NULL,
	data   BYTEA  NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX sidecars_parent ON sidecars (parent, place) WHERE parent > 0;

-- Records of runs, one row each. place is the key of the task, shifted by 24 bits, and the number
-- of the record.
CREATE TABLE journal (
	place BIGINT PRIMARY KEY,
	data  BYTEA  NOT NULL
);

-- Requests that must not be executed twice, by the keys that callers chose. version is that of
-- the task after the change of the request.
CREATE TABLE requests (
	scope       BIGINT NOT NULL,
	key         BYTEA  NOT NULL,
	fingerprint BYTEA  NOT NULL,
	task        BIGINT NOT NULL,
	version     BIGINT NOT NULL,
	at          BIGINT NOT NULL,
	PRIMARY KEY (scope, key)
);
CREATE INDEX requests_task ON requests (task);
CREATE INDEX requests_at ON requests (at);

-- Tasks by the message ids that callers chose.
CREATE TABLE messages (
	owner BIGINT NOT NULL,
	id    BYTEA  NOT NULL,
	task  BIGINT NOT NULL,
	PRIMARY KEY (owner, id, task)
);
CREATE INDEX messages_task ON messages (task);

-- Webhooks of tasks: readers of the log with a durable position.
CREATE TABLE hooks (
	task       BIGINT   NOT NULL,
	id         BYTEA    NOT NULL,
	url        BYTEA    NOT NULL,
	dialect    SMALLINT NOT NULL,
	scheme     BYTEA    NOT NULL,
	secret     BYTEA, -- sealed
	created_at BIGINT   NOT NULL,
	told       BIGINT   NOT NULL, -- the version up to which events were delivered
	settled    SMALLINT NOT NULL, -- 1 when no event will be left to deliver
	PRIMARY KEY (task, id)
) WITH (fillfactor = 80);

-- The work at start costs in proportion to the pending deliveries, not to the settled hooks.
CREATE INDEX hooks_unsettled ON hooks (task, id) WHERE settled = 0;

-- Runs of versions that were not delivered to a hook.
CREATE TABLE dead_letters (
	task     BIGINT NOT NULL,
	hook     BYTEA  NOT NULL,
	first    BIGINT NOT NULL,
	last     BIGINT NOT NULL,
	at       BIGINT NOT NULL,
	attempts BIGINT NOT NULL,
	reason   BYTEA  NOT NULL,
	PRIMARY KEY (task, hook, first)
);

-- API keys: hashes, never the keys. seq is the order of their making, principal JSON.
CREATE TABLE keys (
	seq        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id         BYTEA  NOT NULL UNIQUE,
	hash       BYTEA  NOT NULL CHECK (octet_length(hash) = 32),
	hint       BYTEA  NOT NULL,
	principal  BYTEA  NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	revoked_at BIGINT NOT NULL
);

-- The directory of agents. spec and secret are NULL for agents that no operator has registered; the
-- secret is sealed.
CREATE TABLE agents (
	name       BYTEA  PRIMARY KEY,
	spec       BYTEA,
	secret     BYTEA,
	card       BYTEA,
	card_url   BYTEA  NOT NULL,
	etag       BYTEA  NOT NULL,
	seen_at    BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);

-- Small values by their names.
CREATE TABLE notes (
	name BYTEA PRIMARY KEY,
	note BYTEA NOT NULL
);

-- The inbox of a person. seq is the order in which items came.
CREATE TABLE inbox (
	seq         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id          BYTEA  NOT NULL UNIQUE,
	kind        BYTEA  NOT NULL,
	owner       BYTEA  NOT NULL,
	task        BYTEA  NOT NULL,
	version     BIGINT NOT NULL,
	agent       BYTEA  NOT NULL,
	caller      BYTEA  NOT NULL,
	caller_name BYTEA  NOT NULL,
	skill       BYTEA  NOT NULL,
	text        BYTEA  NOT NULL,
	draft       BYTEA  NOT NULL,
	created_at  BIGINT NOT NULL,
	expires_at  BIGINT NOT NULL,
	state       BYTEA  NOT NULL,
	answer      BYTEA  NOT NULL,
	settled_by  BYTEA  NOT NULL,
	settled_at  BIGINT NOT NULL
);
CREATE INDEX inbox_state ON inbox (state, seq);
CREATE INDEX inbox_owner ON inbox (owner, seq);
CREATE INDEX inbox_ends ON inbox (expires_at) WHERE state = 'open' AND expires_at > 0;
CREATE INDEX inbox_settled ON inbox (settled_at) WHERE state <> 'open';

-- The callers that the hub trusts, with their levels. skills is a JSON list.
CREATE TABLE trust (
	who        BYTEA  PRIMARY KEY,
	level      BIGINT NOT NULL,
	skills     BYTEA  NOT NULL,
	first_seen BIGINT NOT NULL,
	last_seen  BIGINT NOT NULL,
	contacts   BIGINT NOT NULL
);

-- The working memory. tags is a JSON array; ref is empty where value is the whole text.
CREATE TABLE memory (
	id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	owner      BYTEA  NOT NULL,
	key        BYTEA  NOT NULL,
	namespace  BYTEA  NOT NULL,
	category   BYTEA  NOT NULL,
	tags       BYTEA  NOT NULL,
	ref        BYTEA  NOT NULL,
	size       BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	value      BYTEA  NOT NULL
);
CREATE UNIQUE INDEX memory_key ON memory (owner, key);
CREATE INDEX memory_space ON memory (owner, namespace, expires_at, key);
CREATE INDEX memory_owner ON memory (owner, expires_at, key);
CREATE INDEX memory_end ON memory (expires_at);

-- The conversation memory, in the order of its making.
CREATE TABLE turns (
	place   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	owner   BYTEA  NOT NULL,
	session BYTEA  NOT NULL,
	id      BYTEA  NOT NULL,
	role    BYTEA  NOT NULL,
	name    BYTEA  NOT NULL,
	at      BIGINT NOT NULL,
	text    BYTEA  NOT NULL
);
CREATE UNIQUE INDEX turns_id ON turns (owner, session, id);
CREATE INDEX turns_session ON turns (owner, session, place);
CREATE INDEX turns_at ON turns (at);

-- Dead letters of queues. seq is the order in which they came.
CREATE TABLE letters (
	seq      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id       BYTEA  NOT NULL UNIQUE,
	queue    BYTEA  NOT NULL,
	reason   BYTEA  NOT NULL,
	at       BIGINT NOT NULL,
	type     BYTEA  NOT NULL,
	source   BYTEA  NOT NULL,
	task     BYTEA  NOT NULL,
	owner    BYTEA  NOT NULL,
	size     BIGINT NOT NULL,
	envelope BYTEA  NOT NULL
);

-- The order in which the changes of all tasks were committed, and notices of other events between
-- them: one row a commit. seq is the position of its first moment, n the number of its moments.
CREATE TABLE timeline (
	seq  BIGINT PRIMARY KEY,
	n    BIGINT NOT NULL,
	data BYTEA  NOT NULL
);

-- The random name of the sequence of positions.
CREATE TABLE timeline_id (
	one  SMALLINT PRIMARY KEY CHECK (one = 1),
	name BYTEA    NOT NULL
);
INSERT INTO timeline_id VALUES (1, convert_to(substr(replace(gen_random_uuid()::text, '-', ''), 1, 12), 'UTF8'));
