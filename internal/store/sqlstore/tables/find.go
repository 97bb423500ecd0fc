package tables

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/task"
)

// MaxLonger is the largest number of words found by their beginning.
const MaxLonger = 8

// ownerMark returns the beginning of all words of an owner in the index.
func ownerMark(owner task.Owner) string {
	sum := sha256.Sum256([]byte(owner))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}

// NoteWords returns the words of a note as an index holds them, separated by spaces: each behind a
// mark of the owner, so that the notes of others neither cost time nor count. They are letters and
// digits in UTF-8.
func NoteWords(n *memory.Note) string {
	mark, words := ownerMark(n.Owner), memory.Words(n)
	for i, w := range words {
		words[i] = marked(mark, w)
	}
	return strings.Join(words, " ")
}

// marked returns a word behind a mark. A stem may end within a character.
func marked(mark, word string) string { return mark + strings.ToValidUTF8(word, "") }

// noteFinder collects the notes that a search may show.
type noteFinder struct {
	memory.Found
	index NoteIndex
	where *memory.Range
	seen  map[int64]bool
}

// word is a word of a search with the number of notes that contain it.
type word struct {
	term  string // with the mark of the owner
	count int
}

// findNotes searches an index. size is the number of notes of the owner.
func findNotes(in NoteIndex, size int, where *memory.Range, q *memory.Query) (*memory.Found, error) {
	f := &noteFinder{Found: memory.Found{Size: size, Counts: make(map[string]int)}, index: in, where: where, seen: make(map[int64]bool)}
	words, err := f.count(q.Words)
	if err != nil {
		return nil, err
	}
	loose, err := f.count(q.Loose)
	if err != nil {
		return nil, err
	}
	if err := f.rarest(words); err != nil {
		return nil, err
	}
	return &f.Found, f.rarest(loose)
}

// full reports whether the search needs no more notes.
func (f *noteFinder) full() bool { return len(f.Notes) >= f.where.Limit }

// collect adds the notes that contain word and, unless others is empty, one of others, until the search
// is full.
func (f *noteFinder) collect(word string, others []string) error {
	for row, err := range f.index.Matching(f.where, word, others) {
		if err != nil {
			return err
		}
		var note memory.Note
		if err := scanMemory(row, f.where, &note); err != nil {
			return err
		}
		if id := row.Int(); !f.seen[id] {
			f.seen[id] = true
			f.Notes = append(f.Notes, note)
		}
		if f.full() {
			break
		}
	}
	return nil
}

// rarest collects notes with the rarest words first. Of those that share a frequent word, the
// notes with another one of the words come first.
func (f *noteFinder) rarest(words []word) (err error) {
	terms := make([]string, len(words))
	for i, w := range words {
		terms[i] = w.term
	}
	for i := 0; err == nil && i < len(words) && !f.full(); i++ {
		others := terms[i+1:]
		if words[i].count > f.where.Limit-len(f.Notes) && len(others) > 0 {
			err = f.collect(terms[i], others)
		}
		if err == nil && !f.full() {
			err = f.collect(terms[i], nil)
		}
	}
	return err
}

// count returns the words that occur, the rarest first.
func (f *noteFinder) count(words []string) ([]word, error) {
	mark := ownerMark(f.where.Owner)
	var terms []string
	for _, w := range words {
		begin, ok := strings.CutSuffix(w, "*")
		if !ok {
			terms = append(terms, marked(mark, w))
			continue
		}
		longer, err := f.index.Longer(marked(mark, begin))
		if err != nil {
			return nil, err
		}
		terms = append(terms, longer...)
	}
	slices.Sort(terms)
	terms = slices.Compact(terms)
	counts, err := f.index.Counts(terms)
	if err != nil {
		return nil, err
	}
	var found []word
	for i, n := range counts {
		if n > 0 {
			found = append(found, word{terms[i], n})
			f.Counts[terms[i][len(mark):]] = n
		}
	}
	slices.SortFunc(found, func(a, b word) int { return cmp.Or(a.count-b.count, strings.Compare(a.term, b.term)) })
	return found, nil
}
