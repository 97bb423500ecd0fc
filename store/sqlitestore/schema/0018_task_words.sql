-- The full-text index of the tasks. Its row numbers are the keys of tasks; words holds the stems of their
-- texts, each before a mark of its owner: a search in the tasks of one owner reads the words of no other,
-- and one in all tasks reads the words that begin so.
CREATE VIRTUAL TABLE task_words USING fts5(words, content='', contentless_delete=1, detail='none', tokenize='ascii');

-- How far the index has followed the timeline: to the position seq, whose newest task was created at seen.
-- While building is 1, it also takes up the tasks that have ended, in the order of (ended, key), and has
-- come to (at, key).
CREATE TABLE text_index (
	one      INTEGER PRIMARY KEY CHECK (one = 1),
	seq      INTEGER NOT NULL,
	seen     INTEGER NOT NULL,
	at       INTEGER NOT NULL,
	key      INTEGER NOT NULL,
	building INTEGER NOT NULL
) STRICT;
INSERT INTO text_index VALUES (1, 0, 0, 0, 0, 1);
