-- The working memory. Times are milliseconds since 1970, UTC. tags is a JSON array; ref
-- is empty where value is the whole text.
CREATE TABLE memory (
	id         INTEGER PRIMARY KEY,
	owner      TEXT    NOT NULL,
	key        TEXT    NOT NULL,
	namespace  TEXT    NOT NULL,
	category   TEXT    NOT NULL,
	tags       TEXT    NOT NULL,
	ref        TEXT    NOT NULL,
	size       INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	value      BLOB    NOT NULL -- text; SQLite would cut it at a zero byte
) STRICT;
CREATE UNIQUE INDEX memory_key ON memory (owner, key);
CREATE INDEX memory_space ON memory (owner, namespace, expires_at, key);
CREATE INDEX memory_owner ON memory (owner, expires_at, key);
CREATE INDEX memory_end ON memory (expires_at);

-- The conversation memory, in the order of its making.
CREATE TABLE turns (
	place   INTEGER PRIMARY KEY,
	owner   TEXT    NOT NULL,
	session TEXT    NOT NULL,
	id      TEXT    NOT NULL,
	role    TEXT    NOT NULL,
	name    TEXT    NOT NULL,
	at      INTEGER NOT NULL,
	text    TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX turns_id ON turns (owner, session, id);
CREATE INDEX turns_session ON turns (owner, session, place);
CREATE INDEX turns_at ON turns (at);
