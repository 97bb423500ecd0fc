-- Large rows of logs, in pieces. place is that of the row, which refers to its pieces by their ids.
CREATE TABLE pieces (
	id    INTEGER PRIMARY KEY,
	place INTEGER NOT NULL,
	data  BLOB    NOT NULL
) STRICT;
CREATE INDEX pieces_place ON pieces (place);

-- Pieces that are written before the row that refers to them: the first of them, and their number.
CREATE TABLE staged (
	first INTEGER PRIMARY KEY,
	n     INTEGER NOT NULL
) STRICT;
