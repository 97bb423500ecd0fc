-- What is to be written down when a task has ended. A task without such a wish has no row.
CREATE TABLE marks (
	task INTEGER PRIMARY KEY REFERENCES tasks (key),
	mark BLOB    NOT NULL
) STRICT;
