-- The identity of the store: 16 random bytes, and the number of commits since its creation. The
-- folder keeps both in a second file, so that a file that has lost commits is found.
CREATE TABLE identity (
	one     INTEGER PRIMARY KEY CHECK (one = 1),
	store   BLOB    NOT NULL CHECK (length(store) = 16),
	commits INTEGER NOT NULL
) STRICT;
INSERT INTO identity VALUES (1, randomblob(16), 0);
