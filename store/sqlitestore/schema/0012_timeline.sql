-- The order in which the changes of all tasks were committed, and notices of other events
-- between them: one row a commit. seq is the position of its first moment, n the number of its
-- moments.
CREATE TABLE timeline (
	seq  INTEGER PRIMARY KEY,
	n    INTEGER NOT NULL,
	data BLOB    NOT NULL
) STRICT;

-- The random name of the sequence of positions.
CREATE TABLE timeline_id (
	one  INTEGER PRIMARY KEY CHECK (one = 1),
	name TEXT    NOT NULL
) STRICT;
INSERT INTO timeline_id VALUES (1, lower(hex(randomblob(6))));
