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

// Search is a query for notes. Zero fields do not filter.
type Search struct {
	Owner task.Owner
	// Text is a list of words; notes are ranked by BM25, best first. Without it, the newest
	// come first.
	Text string
	// Category is a prefix of the categories.
	Category string
	// Tags are the required tags, compared without case.
	Tags []string
	// Namespace is a namespace, or its first segments.
	Namespace string
	// Limit is the maximum number of hits; zero, and anything above MaxHits, means MaxHits.
	Limit int
}

// Hit is a note found by a search.
type Hit struct {
	Entry
	// Score is the relevance from 0 to 1, relative to the best hit; 0 without Text.
	Score float64
}

// maxSearched limits the number of notes searched.
const maxSearched = 10_000

// Search returns the matching notes, best first.
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

// ranked returns the notes that match the words of a text. Words weigh most in the key, and
// more in tags than in the value.
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
