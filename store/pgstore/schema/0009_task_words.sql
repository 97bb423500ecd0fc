-- The full-text index of the tasks. words holds the stems of their texts, each before a mark of its owner:
-- a search in the tasks of one owner reads the words of no other, and one in all tasks reads the words
-- that begin so.
CREATE TABLE task_words (
	task  BIGINT PRIMARY KEY,
	words TSVECTOR NOT NULL
);
-- A search reads the pending entries of the index one by one: there are few.
CREATE INDEX task_words_words ON task_words USING gin (words) WITH (gin_pending_list_limit = 128);

-- How far the index has followed the timeline: to the position seq, whose newest task was created at seen.
-- While building is 1, it also takes up the tasks that have ended, in the order of (ended, key), and has
-- come to (at, key).
CREATE TABLE text_index (
	one      SMALLINT PRIMARY KEY CHECK (one = 1),
	seq      BIGINT NOT NULL,
	seen     BIGINT NOT NULL,
	at       BIGINT NOT NULL,
	key      BIGINT NOT NULL,
	building BIGINT NOT NULL
);
INSERT INTO text_index VALUES (1, 0, 0, 0, 0, 1);
