-- Data beside a task: at most one row of each kind. place is the kind, shifted by 39 bits,
-- and the key of the task. The kinds: 0 is a checkpoint, from which a run continues; 1 asks
-- the recorder to record the outcome of the task; 2 is a lineage: parent, root and hops in 8
-- bytes each, big-endian. parent repeats that of a lineage; it is 0 for other kinds.
CREATE TABLE sidecars (
	place  INTEGER PRIMARY KEY,
	parent INTEGER NOT NULL,
	data   BLOB    NOT NULL
) STRICT;
CREATE INDEX sidecars_parent ON sidecars (parent) WHERE parent > 0;

INSERT INTO sidecars SELECT task, 0, data FROM checkpoints ORDER BY task;
INSERT INTO sidecars SELECT (1 << 39) + task, 0, mark FROM marks ORDER BY task;
INSERT INTO sidecars
SELECT (2 << 39) + task, parent, unhex(printf('%016x%016x%016x', parent, root, hops))
FROM lineage ORDER BY task;

DROP TABLE checkpoints;
DROP TABLE marks;
DROP TABLE lineage;
