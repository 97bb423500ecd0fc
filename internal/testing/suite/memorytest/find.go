package memorytest

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/internal/bm25"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/task"
)

// FinderStore is a store with an index of words.
type FinderStore interface {
	memory.Store
	memory.Finder
	memory.Sweeper
}

// TestFinder runs the tests of an index of words, each with an empty store. data is the folder of
// the labelled set of package bm25.
func TestFinder(t *testing.T, data string, open func(t *testing.T) FinderStore) {
	t.Run("FollowsTheNotes", func(t *testing.T) {
		t.Parallel()
		testFollows(t, open(t))
	})
	t.Run("PrefersRareWords", func(t *testing.T) {
		t.Parallel()
		testRareWords(t, open(t))
	})
	t.Run("Quality", func(t *testing.T) {
		t.Parallel()
		testQuality(t, open(t), data)
	})
}

// BenchmarkFinder measures searches among 10,000 notes of an owner.
func BenchmarkFinder(b *testing.B, s FinderStore, data string) {
	n := &memory.Notes{Store: s, Limits: memory.Limits{Entries: 20_000, OwnerEntries: 20_000, TTL: time.Hour}}
	queries := labelled(b, n, data, 10_000)
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		inTop(b, n, queries[i%len(queries):][:1])
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms-p99")
}

// vocabulary are words with different stems; some are not ASCII.
var vocabulary = []string{"harbor", "ship", "ÜBUNG", "ветер", "\u1000\u1000ing", "zebra", "quartz", "x1"}

// findable reads the unexpired notes of an owner that contain a word, without the index.
func findable(t *rapid.T, s memory.Store, owner task.Owner, stem string, at time.Time) []string {
	all, err := s.Read(t.Context(), &memory.Range{Owner: owner, At: at, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for i := range all {
		if slices.Contains(memory.Words(&all[i]), stem) {
			keys = append(keys, all[i].Key)
		}
	}
	return keys
}

// testFollows changes notes in all ways, and compares the index with the notes.
func testFollows(t *testing.T, s FinderStore) {
	checks := 0
	rapid.Check(t, func(t *rapid.T) {
		checks++ // each check has owners of its own
		at := time.UnixMilli(1_000_000)
		owners := []task.Owner{task.Owner(fmt.Sprint("o", checks)), task.Owner(fmt.Sprint("p", checks))}
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			owner := rapid.SampledFrom(owners).Draw(t, "owner")
			switch rapid.SampledFrom([]string{"put", "put", "put", "drop", "sweep"}).Draw(t, "step") {
			case "put":
				n := &memory.Note{
					Owner: owner, Key: "a/b/" + rapid.StringMatching("[a-d]").Draw(t, "key"),
					Value:     strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 3).Draw(t, "words"), " "),
					CreatedAt: at, UpdatedAt: at, ExpiresAt: at.Add(time.Duration(rapid.IntRange(1, 3).Draw(t, "ttl")) * time.Second),
				}
				if _, err := s.Put(t.Context(), n, memory.Quota{Namespace: 3}); err != nil {
					t.Fatal(err)
				}
			case "drop":
				if _, err := s.Drop(t.Context(), &memory.Range{Owner: owner, Key: "a/b/a", At: at, Limit: 1}); err != nil {
					t.Fatal(err)
				}
			case "sweep":
				at = at.Add(time.Second)
				if _, err := s.Sweep(t.Context(), at, 10); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, owner := range owners {
			for _, w := range vocabulary {
				stem := bm25.Terms(w)[0]
				want := findable(t, s, owner, stem, at)
				got, err := s.Find(t.Context(), &memory.Range{Owner: owner, At: at, Limit: 10}, memory.Query{Words: []string{stem}})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, keysOf(got.Notes)); diff != "" {
					t.Fatalf("notes of %s with %s (-want +got):\n%s", owner, stem, diff)
				}
			}
		}
	})
}

// keysOf returns the sorted keys of notes, nil for none.
func keysOf(notes []memory.Note) []string {
	var keys []string
	for i := range notes {
		keys = append(keys, notes[i].Key)
	}
	slices.Sort(keys)
	return keys
}

// testRareWords: of too many notes, those with rare words and with several words come.
func testRareWords(t *testing.T, s FinderStore) {
	at := time.Now()
	put := func(key, value string) {
		n := &memory.Note{Owner: "o", Key: key, Value: value, CreatedAt: at, UpdatedAt: at, ExpiresAt: at.Add(time.Hour)}
		if _, err := s.Put(t.Context(), n, memory.Quota{}); err != nil {
			t.Fatal(err)
		}
	}
	put("k/1", "zebra")
	put("k/2", "harbor quartz")
	for i := range 40 {
		put(fmt.Sprintf("m/h%d", i), "harbor")
		put(fmt.Sprintf("m/q%d", i), "quartz")
	}
	words := memory.Query{Words: bm25.Terms("harbor zebra quartz")}
	for name, tt := range map[string]struct {
		r    memory.Range
		must []string
	}{
		"three":     {memory.Range{Limit: 3}, []string{"k/1", "k/2"}},
		"one":       {memory.Range{Limit: 1}, []string{"k/1"}},
		"namespace": {memory.Range{Limit: 100, Prefix: "k/"}, []string{"k/1", "k/2"}},
		"others":    {memory.Range{Owner: "p", Limit: 10}, nil},
		"expired":   {memory.Range{At: at.Add(time.Hour), Limit: 10}, nil},
	} {
		if tt.r.Owner == "" {
			tt.r.Owner = "o"
		}
		if tt.r.At.IsZero() {
			tt.r.At = at
		}
		f, err := s.Find(t.Context(), &tt.r, words)
		if err != nil {
			t.Fatal(err)
		}
		keys := keysOf(f.Notes)
		for _, k := range tt.must {
			if !slices.Contains(keys, k) {
				t.Errorf("%s: %s is missing in %q", name, k, keys)
			}
		}
		if len(keys) > tt.r.Limit || len(tt.must) == 0 && len(keys) > 0 || tt.r.Prefix != "" && len(keys) != len(tt.must) {
			t.Errorf("%s: found %q", name, keys)
		}
		if name != "others" && (f.Size != 82 || f.Counts["harb"] != 41) {
			t.Errorf("%s: %d notes, counts %v", name, f.Size, f.Counts)
		}
	}
	if f, err := s.Find(t.Context(), &memory.Range{Owner: "o", At: at, Limit: 9}, memory.Query{Loose: []string{"zeb*"}}); err != nil || len(f.Notes) != 1 {
		t.Errorf("find by a beginning = %+v, %v", f, err)
	}
}

// labelled puts the agents of the search index's labelled set into notes, among others, and
// returns the held-out queries with their keys.
func labelled(tb testing.TB, n *memory.Notes, data string, others int) [][2]string {
	tb.Helper()
	put := func(key, value string) {
		if _, err := n.Set(tb.Context(), &memory.Set{Owner: "o", Key: key, Value: value, TTL: time.Hour}); err != nil {
			tb.Fatal(err)
		}
	}
	var name string
	var text, words []string
	for _, line := range append(linesOf(tb, filepath.Join(data, "cards.txt")), "@ ") {
		if !strings.HasPrefix(line, "@") {
			text = append(text, line[2:])
			continue
		}
		if name != "" {
			put("agents/main/"+name, strings.Join(text, "\n"))
			words = append(words, strings.Fields(strings.Join(text, " "))...)
		}
		name, _, _ = strings.Cut(strings.TrimPrefix(line, "@ "), " | ")
		text = nil
	}
	var g errgroup.Group
	g.SetLimit(64) // together, so that they share commits
	r := rand.New(rand.NewPCG(1, 2))
	for i := range others {
		some := make([]string, 60)
		for j := range some {
			some[j] = fmt.Sprintf("w%d", int(r.ExpFloat64()*300))
		}
		some[0] = words[r.IntN(len(words))]
		g.Go(func() error {
			_, err := n.Set(tb.Context(), &memory.Set{Owner: "o", Key: fmt.Sprintf("others/main/n%d", i), Value: strings.Join(some, " "), TTL: time.Hour})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		tb.Fatal(err)
	}
	var queries [][2]string
	for _, line := range linesOf(tb, filepath.Join(data, "heldout.txt")) {
		want, query, _ := strings.Cut(line, ": ")
		queries = append(queries, [2]string{"agents/main/" + want, query})
	}
	return queries
}

// linesOf returns the lines of a file of the labelled set that are not comments.
func linesOf(tb testing.TB, name string) []string {
	tb.Helper()
	f, err := os.Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var all []string
	for s := bufio.NewScanner(f); s.Scan(); {
		if line := strings.TrimSpace(s.Text()); line != "" && line[0] != '#' {
			all = append(all, line)
		}
	}
	return all
}

// inTop counts the queries whose note is among the first three hits.
func inTop(tb testing.TB, n *memory.Notes, queries [][2]string) (found int) {
	tb.Helper()
	for _, q := range queries {
		hits, err := n.Search(tb.Context(), &memory.Search{Owner: "o", Text: q[1], Limit: 3})
		if err != nil {
			tb.Fatal(err)
		}
		if slices.ContainsFunc(hits, func(h memory.Hit) bool { return h.Key == q[0] }) {
			found++
		}
	}
	return found
}

// testQuality: a search by the index finds nine of ten notes of the labelled set.
func testQuality(t *testing.T, s FinderStore, data string) {
	n := &memory.Notes{Store: s, Limits: memory.Limits{Entries: 20_000, OwnerEntries: 20_000, TTL: time.Hour}}
	queries := labelled(t, n, data, 300)
	found := inTop(t, n, queries)
	t.Logf("%d of %d queries find their note among the first three", found, len(queries))
	if found*10 < len(queries)*9 {
		t.Errorf("%d of %d queries find their note among the first three, want nine of ten", found, len(queries))
	}
}
