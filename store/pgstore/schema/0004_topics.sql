-- How often members have changed data that other members keep in memory, by topic: a member whose
-- notification was lost finds the change here.
CREATE TABLE topics (
	name BYTEA  PRIMARY KEY,
	n    BIGINT NOT NULL
) WITH (fillfactor = 50);
