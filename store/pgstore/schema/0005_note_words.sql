-- The full-text index of the notes. words are the stems of a note, each behind a mark of its owner, so
-- that the words of others cost nothing. They are those of the note as it was at words_at: a hub that
-- does not know these columns changes updated_at only, and the next search of the owner adds the words.
ALTER TABLE memory ADD COLUMN words TSVECTOR, ADD COLUMN words_at BIGINT NOT NULL DEFAULT -1;
-- A search reads the pending entries of the index one by one: there are few.
CREATE INDEX memory_words ON memory USING gin (words) WITH (gin_pending_list_limit = 128);
CREATE INDEX memory_wordless ON memory (owner, id) WHERE words_at <> updated_at;
