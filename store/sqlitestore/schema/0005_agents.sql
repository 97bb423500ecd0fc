-- What the directory of agents keeps. Times are milliseconds since 1970, UTC; 0 means
-- never. spec and secret are NULL for agents that nobody has registered; the secret is
-- sealed.
CREATE TABLE agents (
	name       TEXT    PRIMARY KEY,
	spec       BLOB,
	secret     BLOB,
	card       BLOB,
	card_url   TEXT    NOT NULL,
	etag       TEXT    NOT NULL,
	seen_at    INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Small things by their names.
CREATE TABLE notes (
	name TEXT PRIMARY KEY,
	note BLOB NOT NULL
) STRICT, WITHOUT ROWID;
