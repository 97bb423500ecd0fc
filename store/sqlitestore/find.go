package sqlitestore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/agent/memory"
	"github.com/parley-a2a/parley/task"
)

var _ memory.Finder = Notes{}

var (
	qIndexNote  = prepared("INSERT OR REPLACE INTO note_words (rowid, words) VALUES (?, ?)")
	qCountWord  = prepared("SELECT count(*) FROM note_words WHERE note_words MATCH ?")
	qLonger     = prepared("SELECT term FROM note_terms WHERE term > ?1 AND term < ?2 ORDER BY term LIMIT ?3")
	qOwnerNotes = prepared("SELECT count(*) FROM memory WHERE owner = ?")
	// The newest notes come first.
	qFindNotes = prepared("SELECT " + noteColumns + `, id FROM note_words CROSS JOIN memory ON id = note_words.rowid
	WHERE note_words MATCH ?9 AND ` + inRange + " ORDER BY note_words.rowid DESC")
	qAllNotes = prepared("SELECT id, owner, key, value, category, tags FROM memory WHERE id > ? ORDER BY id LIMIT 1000")
)

// maxLonger limits the number of words found by their beginning.
const maxLonger = 8

// word is a word of a search with the number of notes that contain it.
type word struct {
	term  string // with the mark of the owner
	count int
}

// ownerMark returns the beginning of all words of an owner in the index.
func ownerMark(owner task.Owner) string {
	sum := sha256.Sum256([]byte(owner))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}

// wordsOf returns the words of a note as the index holds them.
func wordsOf(n *memory.Note) string {
	mark, words := ownerMark(n.Owner), memory.Words(n)
	for i, w := range words {
		words[i] = mark + w
	}
	return strings.Join(words, " ")
}

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
			last = s.getInt()
			n := memory.Note{Owner: task.Owner(s.getText()), Key: s.getText(), Value: string(s.getBlob()), Category: s.getText()}
			_ = json.Unmarshal([]byte(s.getText()), &n.Tags)
			words[last] = wordsOf(&n)
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

// Find implements memory.Finder.
func (n Notes) Find(ctx context.Context, r *memory.Range, q memory.Query) (*memory.Found, error) {
	if r.Limit <= 0 {
		return nil, fmt.Errorf("find notes: limit %d is not positive", r.Limit)
	}
	f := &finder{Found: memory.Found{Counts: make(map[string]int)}, where: r, seen: make(map[int64]bool)}
	if err := n.db.view(ctx, func(c *conn) error { return f.find(c, &q) }); err != nil {
		return nil, fmt.Errorf("find notes: %w", err)
	}
	return &f.Found, nil
}

// finder collects the notes that a search may show.
type finder struct {
	memory.Found
	where *memory.Range
	seen  map[int64]bool
}

// find counts the words, and collects notes.
func (f *finder) find(c *conn, q *memory.Query) error {
	s := c.start(qOwnerNotes)
	s.text(string(f.where.Owner))
	size, err := s.only()
	if err != nil {
		return err
	}
	f.Size = int(size)
	words, err := f.count(c, q.Words)
	if err != nil {
		return err
	}
	loose, err := f.count(c, q.Loose)
	if err != nil {
		return err
	}
	return cmp.Or(f.rarest(c, words), f.rarest(c, loose))
}

// rarest collects notes with the rarest words first. Of those that share a frequent word, the
// notes with another one of the words come first.
func (f *finder) rarest(c *conn, terms []word) (err error) {
	for i := 0; err == nil && i < len(terms) && len(f.Notes) < f.where.Limit; i++ {
		this, others := terms[i], terms[i+1:]
		if this.count > f.where.Limit-len(f.Notes) && len(others) > 0 {
			err = f.collect(c, quoted(this)+" AND ("+quoted(others...)+")")
		}
		if err == nil {
			err = f.collect(c, quoted(this))
		}
	}
	return err
}

// count returns the words that occur, the rarest first.
func (f *finder) count(c *conn, words []string) ([]word, error) {
	mark, terms := ownerMark(f.where.Owner), make(map[string]int)
	for _, w := range words {
		if begin, ok := strings.CutSuffix(w, "*"); ok {
			longer, err := c.longer(mark + begin)
			if err != nil {
				return nil, err
			}
			for _, term := range longer {
				terms[term] = 0
			}
			continue
		}
		terms[mark+w] = 0
	}
	var found []word
	for term := range terms {
		s := c.start(qCountWord)
		s.text(quoted(word{term: term}))
		n, err := s.only()
		if err != nil {
			return nil, err
		}
		if n > 0 {
			found = append(found, word{term, int(n)})
			f.Counts[term[len(mark):]] = int(n)
		}
	}
	slices.SortFunc(found, func(a, b word) int { return cmp.Or(a.count-b.count, strings.Compare(a.term, b.term)) })
	return found, nil
}

// longer returns words that begin with the given one.
func (c *conn) longer(begin string) ([]string, error) {
	s := c.start(qLonger)
	s.text(begin)
	s.text(begin + "\U0010ffff")
	s.int(maxLonger)
	var all []string
	for s.next() {
		all = append(all, s.getText())
	}
	return all, s.err
}

// collect adds the notes that match an expression until there are enough.
func (f *finder) collect(c *conn, match string) error {
	s := c.start(qFindNotes)
	bindRead(&s, f.where)
	s.text(match)
	for len(f.Notes) < f.where.Limit && s.next() {
		note, err := getNote(&s, f.where)
		if err != nil {
			s.close()
			return err
		}
		if id := s.getInt(); !f.seen[id] {
			f.seen[id] = true
			f.Notes = append(f.Notes, note)
		}
	}
	s.close()
	return s.err
}

// quoted returns an expression of the index that matches notes with one of the words.
func quoted(words ...word) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = `"` + w.term + `"`
	}
	return strings.Join(all, " OR ")
}
