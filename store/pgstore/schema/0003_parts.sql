-- Large parts of tasks. A content is stored once for each owner: space is a name made of the owner.
-- chunk is the number of bytes of each chunk but the last one.
CREATE TABLE part_contents (
	id     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	space  BYTEA  NOT NULL,
	digest BYTEA  NOT NULL CHECK (octet_length(digest) = 32),
	size   BIGINT NOT NULL,
	chunk  BIGINT NOT NULL,
	UNIQUE (space, digest)
);

-- crc is the CRC-32C of data.
CREATE TABLE part_chunks (
	content BIGINT NOT NULL,
	n       BIGINT NOT NULL,
	crc     BIGINT NOT NULL,
	data    BYTEA  NOT NULL,
	PRIMARY KEY (content, n)
);
ALTER TABLE part_chunks ALTER COLUMN data SET STORAGE EXTERNAL;

-- References of tasks to contents. pending is 1 until an entry that names the part is known, and
-- holders is the number of changes whose outcome was not known at held_at, by the clock of the
-- database. keep is in seconds after the end of the task.
CREATE TABLE part_refs (
	owner    BYTEA    NOT NULL,
	task     BYTEA    NOT NULL,
	digest   BYTEA    NOT NULL,
	space    BYTEA    NOT NULL,
	size     BIGINT   NOT NULL,
	media    BYTEA    NOT NULL,
	filename BYTEA    NOT NULL,
	keep     BIGINT   NOT NULL,
	stored   BIGINT   NOT NULL,
	pending  SMALLINT NOT NULL,
	holders  BIGINT   NOT NULL,
	held_at  BIGINT   NOT NULL,
	PRIMARY KEY (owner, task, digest)
) WITH (fillfactor = 80);
CREATE INDEX part_refs_content ON part_refs (space, digest);

-- The least layout that a program must know to use the database. A step that only adds tables and
-- columns leaves it.
ALTER TABLE sequence ADD COLUMN least BIGINT NOT NULL DEFAULT 1;
