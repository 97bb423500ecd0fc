package pgstore

import (
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/testing/suite/memorytest"
)

// labelled is the folder of the labelled set of the search index.
const labelled = "../../internal/bm25/testdata"

func TestFinder(t *testing.T) {
	t.Parallel()
	memorytest.TestFinder(t, labelled, func(t *testing.T) memorytest.FinderStore { return newTest(t).Notes() })
}

// TestOlderHubsNotes: an older hub knows neither the words of a note nor the time of their making.
func TestOlderHubsNotes(t *testing.T) {
	t.Parallel()
	db, at := newTest(t), time.Now()
	s := db.Notes()
	for _, n := range []memory.Note{{Owner: "o", Key: "a/b", Value: "harbor"}, {Owner: "p", Key: "a/c", Value: "quartz"}} {
		n.CreatedAt, n.UpdatedAt, n.ExpiresAt = at, at, at.Add(time.Hour)
		if _, err := s.Put(t.Context(), &n, memory.Quota{}); err != nil {
			t.Fatal(err)
		}
	}
	find := func(word string) int {
		t.Helper()
		f, err := s.Find(t.Context(), &memory.Range{Owner: "o", At: at, Limit: 9}, memory.Query{Words: []string{word}})
		if err != nil {
			t.Fatal(err)
		}
		return len(f.Notes)
	}
	const older = `UPDATE memory SET value = 'zebra', updated_at = updated_at + 1 WHERE key = 'a/b';
	INSERT INTO memory (owner, key, namespace, category, tags, ref, size, created_at, updated_at, expires_at, value)
	SELECT owner, 'a/d', namespace, category, tags, ref, size, created_at, updated_at, expires_at, value FROM memory WHERE key = 'a/b'`
	if err := db.read(t.Context(), func(c *conn) error { return c.script(t.Context(), older) }); err != nil {
		t.Fatal(err)
	}
	if zebra, harbor, quartz := find("zebra"), find("harb"), find("quartz"); zebra != 2 || harbor != 0 || quartz != 0 {
		t.Errorf("found %d notes with zebra, %d with harbor, %d with quartz of another owner, want 2, 0 and 0", zebra, harbor, quartz)
	}
}

func BenchmarkFindNotes(b *testing.B) { memorytest.BenchmarkFinder(b, newTest(b).Notes(), labelled) }
