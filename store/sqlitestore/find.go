package sqlitestore

import (
	"context"
	"encoding/json"
	"iter"
	"strings"

	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

var (
	qIndexNote = prepared("INSERT OR REPLACE INTO note_words (rowid, words) VALUES (?, ?)")
	qCountWord = prepared("SELECT count(*) FROM note_words WHERE note_words MATCH ?")
	qLonger    = prepared("SELECT term FROM note_terms WHERE term > ?1 AND term < ?2 ORDER BY term LIMIT 0 + ?3")
	// The newest notes come first.
	qFindNotes = prepared(tables.SQLite("SELECT " + tables.NoteColumns + `, id FROM note_words CROSS JOIN memory ON id = note_words.rowid
	WHERE note_words MATCH $9 AND ` + tables.InRange + " ORDER BY note_words.rowid DESC"))
	qAllNotes = prepared("SELECT id, owner, key, value, category, tags FROM memory WHERE id > ? ORDER BY id LIMIT 1000")
)

// indexNote replaces the words of a note.
func (c *conn) indexNote(id int64, words string) error {
	s := c.start(qIndexNote)
	s.int(id)
	s.text(words)
	return s.done()
}

// indexNotes indexes all notes. A note with unreadable tags is found by its other words.
func indexNotes(c *conn) error {
	for last, more := int64(0), true; more; {
		words := make(map[int64]string)
		s := c.start(qAllNotes)
		s.int(last)
		for s.next() {
			last = s.Int()
			n := memory.Note{Owner: task.Owner(s.Text()), Key: s.Text(), Value: string(s.Blob()), Category: s.Text()}
			_ = json.Unmarshal([]byte(s.Text()), &n.Tags)
			words[last] = tables.NoteWords(&n)
		}
		if s.err != nil {
			return s.err
		}
		for id, w := range words {
			if err := c.indexNote(id, w); err != nil {
				return err
			}
		}
		more = len(words) > 0
	}
	return nil
}

// noteConn writes and searches notes.
type noteConn struct{ *conn }

// Notes implements tables.NoteDB.
func (shared) Notes(c tables.Conn) tables.NoteConn { return noteConn{c.(*conn)} }

// Index implements tables.NoteDB. The index is always complete.
func (shared) Index(context.Context, task.Owner) error { return nil }

// Longer implements tables.NoteConn.
func (x noteConn) Longer(begin string) ([]string, error) {
	s := x.conn.start(qLonger)
	s.text(begin)
	s.text(begin + "\U0010ffff")
	s.int(tables.MaxLonger)
	var all []string
	for s.next() {
		all = append(all, s.Text())
	}
	return all, s.err
}

// Counts implements tables.NoteConn.
func (x noteConn) Counts(words []string) ([]int, error) {
	counts := make([]int, len(words))
	for i, w := range words {
		s := x.conn.start(qCountWord)
		s.text(quoted(w))
		n, err := s.only()
		if err != nil {
			return nil, err
		}
		counts[i] = int(n)
	}
	return counts, nil
}

// Matching implements tables.NoteConn.
func (x noteConn) Matching(r *memory.Range, word string, others []string) iter.Seq2[tables.Row, error] {
	match := quoted(word)
	if len(others) > 0 {
		match += " AND (" + quoted(others...) + ")"
	}
	return x.rows(qFindNotes, append(tables.RangeValues(r), match)...)
}

// quoted returns an expression of the index that matches notes with one of the words.
func quoted(words ...string) string { return `"` + strings.Join(words, `" OR "`) + `"` }

// Entries implements tables.WordIndex.
func (shared) Entries(c tables.Conn, key task.Key, after int64) ([]task.Entry, error) {
	return entries(c.(*conn), key, after)
}

// Damaged implements tables.WordIndex.
func (shared) Damaged(err error) bool { return damaged(err) }

// AllOf implements tables.WordIndex.
func (shared) AllOf(words []string, begin bool) string {
	end := `"`
	if begin {
		end = `"*`
	}
	return `"` + strings.Join(words, end+` AND "`) + end
}
