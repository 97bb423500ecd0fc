-- What runs note to go on from, one row a record. place is the key of the task, shifted by
-- 24 bits, and the number of the record.
CREATE TABLE journal (
	place INTEGER PRIMARY KEY,
	data  BLOB    NOT NULL
) STRICT;
