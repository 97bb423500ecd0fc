package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/bm25"
	"github.com/parley-a2a/parley/task"
)

// Search is a question for notes. Zero fields do not choose.
type Search struct {
	Owner task.Owner
	// Text is words; the notes that have to do with them come first, by BM25. Without it,
	// the newest come first.
	Text string
	// Category is how categories begin.
	Category string
	// Tags are all to be there; their case does not matter.
	Tags []string
	// Namespace is the namespace, or a beginning of it that ends with a segment.
	Namespace string
	// Limit is how many are wanted, at most MaxHits; zero means MaxHits.
	Limit int
}

// Hit is a note that was found.
type Hit struct {
	Entry
	// Score is how well it fits, from 0 to 1, relative to the best; 0 without words.
	Score float64
}

// maxSearched is how many notes of an owner are looked at.
const maxSearched = 10_000

// Search returns the notes that fit, the best first.
func (n *Notes) Search(ctx context.Context, q *Search) ([]Hit, error) {
	prefix := ""
	if q.Namespace != "" {
		prefix = strings.TrimSuffix(q.Namespace, "/") + "/"
	}
	if err := CheckPrefix(prefix); err != nil {
		return nil, fmt.Errorf("search notes: %w", err)
	}
	found, err := n.store().Read(ctx, &Range{
		Owner: q.Owner, Prefix: prefix, Category: q.Category, At: time.Now(), Limit: maxSearched, Clip: Indexed,
	})
	if err != nil {
		return nil, fmt.Errorf("search notes: %w", err)
	}
	found = slices.DeleteFunc(found, func(n Note) bool { return !hasTags(&n, q.Tags) })
	limit := MaxHits
	if q.Limit > 0 {
		limit = min(q.Limit, MaxHits)
	}
	if strings.TrimSpace(q.Text) == "" {
		return newest(found, limit), nil
	}
	return ranked(found, q.Text, limit), nil
}

func hasTags(n *Note, tags []string) bool {
	for _, t := range tags {
		if !slices.ContainsFunc(n.Tags, func(have string) bool { return strings.EqualFold(have, t) }) {
			return false
		}
	}
	return true
}

func newest(notes []Note, limit int) []Hit {
	slices.SortStableFunc(notes, func(a, b Note) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	hits := make([]Hit, 0, min(len(notes), limit))
	for i := range notes[:min(len(notes), limit)] {
		hits = append(hits, Hit{Entry: entryOf(&notes[i])})
	}
	return hits
}

// ranked returns the notes that have to do with the words of a text. Words count most in
// the key, and more in tags than in the text of a note.
func ranked(notes []Note, text string, limit int) []Hit {
	index, at := bm25.New(), make(map[string]*Note, len(notes))
	for i := range notes {
		n := &notes[i]
		at[n.Key] = n
		index.Put(&bm25.Document{
			ID: n.Key, Name: n.Key, Summary: n.Value,
			Skills: []bm25.Skill{{Description: n.Category, Tags: n.Tags}},
		})
	}
	hits := []Hit{}
	for _, h := range index.Search(text, cmp.Or(limit, MaxHits)) {
		hits = append(hits, Hit{Entry: entryOf(at[h.ID]), Score: h.Score})
	}
	return hits
}
