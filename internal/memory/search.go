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

const (
	// maxSearched limits the number of notes that are read one after another.
	maxSearched = 10_000
	// maxRanked limits the number of notes of a Finder that are ranked; those with a tag are
	// selected from maxSearched.
	maxRanked = 3 * MaxHits
)

// Search returns the matching notes, best first.
func (n *Notes) Search(ctx context.Context, q *Search) ([]Hit, error) {
	prefix := ""
	if q.Namespace != "" {
		prefix = strings.TrimSuffix(q.Namespace, "/") + "/"
	}
	if err := CheckPrefix(prefix); err != nil {
		return nil, fmt.Errorf("search notes: %w", err)
	}
	r := &Range{Owner: q.Owner, Prefix: prefix, Category: q.Category, At: time.Now(), Clip: Indexed}
	found, err := n.find(ctx, r, q)
	if err != nil {
		return nil, fmt.Errorf("search notes: %w", err)
	}
	limit := MaxHits
	if q.Limit > 0 {
		limit = min(q.Limit, MaxHits)
	}
	if strings.TrimSpace(q.Text) == "" {
		slices.SortStableFunc(found.Notes, func(a, b Note) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
		hits := make([]Hit, 0, min(len(found.Notes), limit))
		for i := range found.Notes[:min(len(found.Notes), limit)] {
			hits = append(hits, Hit{Entry: entryOf(&found.Notes[i])})
		}
		return hits, nil
	}
	return ranked(found, q.Text, limit), nil
}

// find returns the notes with the tags of q, by the words of q if the store has an index of words.
func (n *Notes) find(ctx context.Context, r *Range, q *Search) (found *Found, err error) {
	f, ok := n.store().(Finder)
	if words := bm25.Terms(q.Text); ok && len(words) > 0 {
		r.Limit = maxRanked
		if len(q.Tags) > 0 {
			r.Limit = maxSearched
		}
		found, err = f.Find(ctx, r, Query{Words: words, Loose: bm25.LooseTerms(q.Text)})
	} else {
		r.Limit, found = maxSearched, new(Found)
		found.Notes, err = n.store().Read(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	found.Notes = slices.DeleteFunc(found.Notes, func(n Note) bool { return !hasTags(&n, q.Tags) })
	return found, nil
}

// document returns a note in the form of the index.
func (n *Note) document() *bm25.Document {
	return &bm25.Document{
		ID: n.Key, Name: n.Key, Summary: Cut(n.Value, Indexed),
		Skills: []bm25.Skill{{Description: n.Category, Tags: n.Tags}},
	}
}

// Words returns the words under which a search finds a note, each once. It is a helper for
// stores that implement Finder.
func Words(n *Note) []string { return n.document().Stems() }

func hasTags(n *Note, tags []string) bool {
	for _, t := range tags {
		if !slices.ContainsFunc(n.Tags, func(have string) bool { return strings.EqualFold(have, t) }) {
			return false
		}
	}
	return true
}

// ranked returns the notes that match the words of a text. Words weigh most in the key, and
// more in tags than in the value.
func ranked(found *Found, text string, limit int) []Hit {
	index, at := bm25.New(), make(map[string]*Note, len(found.Notes))
	for i := range found.Notes {
		n := &found.Notes[i]
		at[n.Key] = n
		index.Put(n.document())
	}
	hits := []Hit{}
	for _, h := range index.SearchIn(text, cmp.Or(limit, MaxHits), bm25.Corpus{Size: found.Size, Counts: found.Counts}) {
		hits = append(hits, Hit{Entry: entryOf(at[h.ID]), Score: h.Score})
	}
	return hits
}
