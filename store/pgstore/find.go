package pgstore

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

var (
	// OFFSET 0 keeps the planner from another index than that of the words.
	qCountWords = prepared(`SELECT (SELECT count(*) FROM memory WHERE words @@ word::tsquery)
	FROM unnest(string_to_array(convert_from($1, 'UTF8'), ' ')) WITH ORDINALITY AS asked (word, n) ORDER BY n`)
	qLonger = prepared(`SELECT DISTINCT convert_to(word, 'UTF8') FROM
	(SELECT words FROM memory WHERE words @@ convert_from($1, 'UTF8')::tsquery LIMIT $3) AS notes,
	unnest(tsvector_to_array(words)) AS word
	WHERE starts_with(word, convert_from($2, 'UTF8')) AND word <> convert_from($2, 'UTF8') ORDER BY 1 LIMIT $4`)
	qFindNotes = prepared(`SELECT ` + tables.NoteColumns + `, id FROM (SELECT * FROM
	(SELECT * FROM memory WHERE words @@ convert_from($9, 'UTF8')::tsquery OFFSET 0) AS hits
	WHERE ` + tables.InRange + ` ORDER BY id DESC LIMIT $7) AS notes`)

	qWordless = prepared(`SELECT id, updated_at, key, substr(value, 1, $2::int), category, tags FROM memory
	WHERE owner = $1 AND words_at <> updated_at ORDER BY id LIMIT $3`)
	qSetWords = prepared(`UPDATE memory SET words = ` + wordsOf + `$1, 'UTF8'), ' ')), words_at = updated_at
	WHERE id = $2 AND updated_at = $3`)
)

// wordsOf begins an expression that turns words, separated by spaces, into those of a note.
const wordsOf = "array_to_tsvector(string_to_array(convert_from("

const (
	// wordlessBatch is the number of notes whose words are added in one commit.
	wordlessBatch = 500
	// longerFrom is the number of notes that are searched for longer words.
	longerFrom = 40
)

// noteConn writes and searches notes.
type noteConn struct{ *conn }

// Notes implements tables.NoteDB.
func (shared) Notes(c tables.Conn) tables.NoteConn { return noteConn{c.(*conn)} }

// Longer implements tables.NoteConn. Notes that contain the word itself are found without it.
func (x noteConn) Longer(begin string) ([]string, error) {
	s := x.conn.start(qLonger)
	s.text(quoted(begin) + ":* & !" + quoted(begin))
	s.text(begin)
	s.int(longerFrom)
	s.int(tables.MaxLonger)
	var all []string
	for s.next() {
		all = append(all, s.Text())
	}
	return all, s.err
}

// Counts implements tables.NoteConn.
func (x noteConn) Counts(words []string) ([]int, error) {
	if len(words) == 0 {
		return nil, nil
	}
	asked := make([]string, len(words))
	for i, w := range words {
		asked[i] = quoted(w)
	}
	s := x.conn.start(qCountWords)
	s.text(strings.Join(asked, " "))
	counts := make([]int, 0, len(words))
	for s.next() {
		counts = append(counts, int(s.Int()))
	}
	return counts, s.err
}

// Matching implements tables.NoteConn.
func (x noteConn) Matching(r *memory.Range, word string, others []string) iter.Seq2[tables.Row, error] {
	match := quoted(word)
	if len(others) > 0 {
		match += " & (" + quoted(others...) + ")"
	}
	return x.rows(qFindNotes, append(tables.RangeValues(r), match)...)
}

// quoted returns an expression of the index that matches notes with one of the words, which are
// letters and digits.
func quoted(words ...string) string { return "'" + strings.Join(words, "'|'") + "'" }

// wordless is a note whose words the index does not have.
type wordless struct {
	id      int64
	updated time.Time
	words   string
}

// Index implements tables.NoteDB. It adds the words of notes that a hub without the index has stored.
func (s shared) Index(ctx context.Context, owner task.Owner) error {
	for {
		var missing []wordless
		err := s.db.read(ctx, func(c *conn) (err error) {
			missing, err = c.wordless(owner)
			return err
		})
		if err != nil || len(missing) == 0 {
			return err
		}
		if err := s.db.write(ctx, func(w *writer) error { return w.setWords(missing) }); err != nil {
			return err
		}
	}
}

// wordless reads notes whose words the index does not have. A note with unreadable tags is found by
// its other words.
func (c *conn) wordless(owner task.Owner) (all []wordless, err error) {
	s := c.start(qWordless)
	s.text(string(owner))
	s.int(tables.ClipBytes(memory.Indexed))
	s.int(wordlessBatch)
	for s.next() {
		note := wordless{id: s.Int(), updated: s.getTime()}
		n := memory.Note{Owner: owner, Key: s.Text(), Value: s.Text(), Category: s.Text()}
		_ = json.Unmarshal([]byte(s.Text()), &n.Tags)
		note.words = tables.NoteWords(&n)
		all = append(all, note)
	}
	return all, s.err
}

// setWords stores the words of those notes that have not changed since they were read.
func (w *writer) setWords(notes []wordless) error {
	for _, n := range notes {
		s := w.conn.bind(qSetWords, n.words, n.id, n.updated)
		if err := s.done(); err != nil {
			return err
		}
	}
	return nil
}

// Entries implements tables.WordIndex.
func (shared) Entries(c tables.Conn, key task.Key, after int64) ([]task.Entry, error) {
	return entries(c.(*conn), key, after)
}

// Damaged implements tables.WordIndex.
func (shared) Damaged(err error) bool { return damaged(err) }

// AllOf implements tables.WordIndex.
func (shared) AllOf(words []string, begin bool) string {
	end := "'"
	if begin {
		end = "':*"
	}
	return "'" + strings.Join(words, end+" & '") + end
}
