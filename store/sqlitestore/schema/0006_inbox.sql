-- What a person has to look at. Times are milliseconds since 1970, UTC; 0 means never.
-- seq is the order in which items came.
CREATE TABLE inbox (
	seq         INTEGER PRIMARY KEY,
	id          TEXT    NOT NULL UNIQUE,
	kind        TEXT    NOT NULL,
	owner       TEXT    NOT NULL,
	task        TEXT    NOT NULL,
	version     INTEGER NOT NULL,
	agent       TEXT    NOT NULL,
	caller      TEXT    NOT NULL,
	caller_name TEXT    NOT NULL,
	skill       TEXT    NOT NULL,
	text        BLOB    NOT NULL,
	draft       BLOB    NOT NULL,
	created_at  INTEGER NOT NULL,
	expires_at  INTEGER NOT NULL,
	state       TEXT    NOT NULL,
	answer      BLOB    NOT NULL,
	settled_by  TEXT    NOT NULL,
	settled_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX inbox_state ON inbox (state, seq);
CREATE INDEX inbox_owner ON inbox (owner, seq);
CREATE INDEX inbox_ends ON inbox (expires_at) WHERE state = 'open' AND expires_at > 0;
CREATE INDEX inbox_settled ON inbox (settled_at) WHERE state <> 'open';

-- Whom the hub trusts, and how far. skills is a JSON list.
CREATE TABLE trust (
	who        TEXT    PRIMARY KEY,
	level      INTEGER NOT NULL,
	skills     TEXT    NOT NULL,
	first_seen INTEGER NOT NULL,
	last_seen  INTEGER NOT NULL,
	contacts   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
