-- The full-text index of the notes. Its row numbers are the ids of memory; words holds the stems
-- of a note, each behind a mark of its owner, so that the words of others cost nothing.
CREATE VIRTUAL TABLE note_words USING fts5(words, content='', contentless_delete=1, detail='none', tokenize='ascii');
CREATE VIRTUAL TABLE note_terms USING fts5vocab('note_words', 'row');
CREATE TRIGGER note_words_deleted AFTER DELETE ON memory BEGIN
	DELETE FROM note_words WHERE rowid = old.id;
END;
