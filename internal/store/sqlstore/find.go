package sqlstore

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/agent/memory"
	"github.com/parley-a2a/parley/internal/order"
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

// NoteIndex is the index of the words of notes, as one search reads it.
type NoteIndex interface {
	// Longer returns words that begin with the given one and are longer, at most MaxLonger.
	Longer(begin string) ([]string, error)
	// Counts returns the number of notes that contain each of the words.
	Counts(words []string) ([]int, error)
	// Collect adds the notes in the range of the search that contain word and, unless others is
	// empty, one of others, the newest first, until the search is full.
	Collect(f *NoteFinder, word string, others []string) error
}

// NoteFinder collects the notes that a search may show.
type NoteFinder struct {
	memory.Found
	// Where is the range of the search.
	Where *memory.Range
	seen  map[int64]bool
}

// word is a word of a search with the number of notes that contain it.
type word struct {
	term  string // with the mark of the owner
	count int
}

// FindNotes searches an index. size is the number of notes of the owner.
func FindNotes(in NoteIndex, size int, where *memory.Range, q *memory.Query) (*memory.Found, error) {
	f := &NoteFinder{Found: memory.Found{Size: size, Counts: make(map[string]int)}, Where: where, seen: make(map[int64]bool)}
	words, err := f.count(in, q.Words)
	if err != nil {
		return nil, err
	}
	loose, err := f.count(in, q.Loose)
	if err != nil {
		return nil, err
	}
	return &f.Found, cmp.Or(f.rarest(in, words), f.rarest(in, loose))
}

// Full reports whether the search needs no more notes.
func (f *NoteFinder) Full() bool { return len(f.Notes) >= f.Where.Limit }

// Add adds a note, unless the search has it.
func (f *NoteFinder) Add(id int64, n *memory.Note) {
	if !f.seen[id] {
		f.seen[id] = true
		f.Notes = append(f.Notes, *n)
	}
}

// rarest collects notes with the rarest words first. Of those that share a frequent word, the
// notes with another one of the words come first.
func (f *NoteFinder) rarest(in NoteIndex, words []word) (err error) {
	terms := make([]string, len(words))
	for i, w := range words {
		terms[i] = w.term
	}
	for i := 0; err == nil && i < len(words) && !f.Full(); i++ {
		others := terms[i+1:]
		if words[i].count > f.Where.Limit-len(f.Notes) && len(others) > 0 {
			err = in.Collect(f, terms[i], others)
		}
		if err == nil && !f.Full() {
			err = in.Collect(f, terms[i], nil)
		}
	}
	return err
}

// count returns the words that occur, the rarest first.
func (f *NoteFinder) count(in NoteIndex, words []string) ([]word, error) {
	mark := ownerMark(f.Where.Owner)
	var terms []string
	for _, w := range words {
		begin, ok := strings.CutSuffix(w, "*")
		if !ok {
			terms = append(terms, marked(mark, w))
			continue
		}
		longer, err := in.Longer(marked(mark, begin))
		if err != nil {
			return nil, err
		}
		terms = append(terms, longer...)
	}
	slices.Sort(terms)
	terms = slices.Compact(terms)
	counts, err := in.Counts(terms)
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
	order.Sort(found, func(a, b *word) int { return cmp.Or(a.count-b.count, strings.Compare(a.term, b.term)) })
	return found, nil
}
