-- Requests that must not be executed twice, by the keys that callers chose. The first
-- layout of this table was never written to. version is that of the task after what
-- the request has changed.
DROP TABLE requests;

CREATE TABLE requests (
	scope       INTEGER NOT NULL REFERENCES scopes (id),
	key         TEXT    NOT NULL,
	fingerprint BLOB    NOT NULL,
	task        INTEGER NOT NULL REFERENCES tasks (key),
	version     INTEGER NOT NULL,
	at          INTEGER NOT NULL,
	PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX requests_task ON requests (task);
CREATE INDEX requests_at ON requests (at);
