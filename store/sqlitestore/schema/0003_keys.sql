-- API keys: hashes, never the keys. Times are milliseconds since 1970, UTC; 0 means
-- never.
CREATE TABLE keys (
	seq        INTEGER PRIMARY KEY, -- the order of their making
	id         TEXT    NOT NULL UNIQUE,
	hash       BLOB    NOT NULL CHECK (length(hash) = 32),
	hint       TEXT    NOT NULL,
	principal  TEXT    NOT NULL, -- JSON
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	revoked_at INTEGER NOT NULL
) STRICT;
