package sqlitestore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

// cost is the work of the writer.
type cost struct{ Rows, Statements int64 }

func costOf(t *testing.T, db *DB) cost {
	t.Helper()
	n, err := writeValue(t.Context(), db, func(w *writer) (cost, error) {
		rows, err := w.conn.number("SELECT total_changes()")
		return cost{rows, int64(w.conn.steps)}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCostOfATask fixes the cost of a task, including commits and counters.
func TestCostOfATask(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	// The first task of an owner and agent pays for their names, and occasionally one pays for
	// a block of keys.
	put(t, db.Tasks(), newHead("anna", "first"), created(1))
	before := costOf(t, db)
	h := put(t, db.Tasks(), newHead("anna", "t1"), created(1))
	chunk := task.Entry{Kind: task.Artifact, ArtifactID: "a", At: 3, Body: []byte(`{"artifactId":"a"}`)}
	put(t, db.Tasks(), h, status(task.Working, 2), chunk, status(task.Completed, 4))
	after := costOf(t, db)

	got := cost{after.Rows - before.Rows, after.Statements - before.Statements}
	// Rows: head, entries, counter; head, entries, two counters; and for each commit one of the
	// timeline. Each of two commits, and that of costOf, counts itself. Statements: the same and
	// two begins and commits, and a begin and commit of costOf.
	want := cost{Rows: 7 + 2 + 3, Statements: 7 + 2 + 3 + 4 + 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cost of a life mismatch (-want +got):\n%s", diff)
	}
	for table, want := range map[string]int64{"tasks": 2, "entries": 3} {
		n, err := writeValue(t.Context(), db, func(w *writer) (int64, error) {
			return w.conn.number("SELECT count(*) FROM " + table)
		})
		if err != nil || n != want {
			t.Errorf("%s has %d rows, %v, want %d", table, n, err, want)
		}
	}
}

// TestCostDoesNotGrow makes the same append to a long task and to a short one.
func TestCostDoesNotGrow(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	h := put(t, db.Tasks(), newHead("anna", "t1"), created(1), status(task.Working, 2))
	chunk := task.Entry{Kind: task.Artifact, ArtifactID: "a", Append: true, At: 3, Body: []byte(`{"artifactId":"a"}`)}
	one := func() cost {
		before := costOf(t, db)
		h = put(t, db.Tasks(), h, chunk)
		after := costOf(t, db)
		return cost{after.Rows - before.Rows, after.Statements - before.Statements}
	}
	short := one()
	for range 1000 {
		h = put(t, db.Tasks(), h, chunk)
	}
	if diff := cmp.Diff(short, one()); diff != "" {
		t.Errorf("cost of an append after 1000 others (-short +long):\n%s", diff)
	}
}

// TestWaitingAppendsShareACommit blocks the writer until many appends wait.
func TestWaitingAppendsShareACommit(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	tasks := db.Tasks()
	h := put(t, tasks, newHead("anna", "t0"), created(1))
	old := step(t, h, status(task.Working, 2))
	put(t, tasks, h, status(task.Working, 2))
	before := costOf(t, db)

	release := blockWriter(t, db)
	var g sync.WaitGroup
	const n = 100
	for i := range n {
		g.Go(func() {
			if err := tasks.Append(t.Context(), step(t, newHead("anna", fmt.Sprint("n", i)), created(1))); err != nil {
				t.Errorf("Append = %v", err)
			}
		})
	}
	g.Go(func() {
		if err := tasks.Append(t.Context(), old); !errors.Is(err, task.ErrConflict) {
			t.Errorf("Append of an old head = %v, want ErrConflict", err)
		}
	})
	g.Go(func() {
		c := step(t, newHead("anna", "t0"), created(1))
		if err := tasks.Append(t.Context(), c); !errors.Is(err, task.ErrExists) {
			t.Errorf("Append of an old id = %v, want ErrExists", err)
		}
	})
	waitQueued(db, n+2)
	release()
	g.Wait()
	after := costOf(t, db)

	// The commits of costOf and of blockWriter have a begin and a commit each, the
	// shared one has another pair, two losers of one statement, one counter, and one row of
	// the timeline. Each of the three counts itself.
	want := cost{Rows: 2*n + 1 + 1 + 3, Statements: 3*3 + 2*n + 2 + 1 + 1}
	got := cost{after.Rows - before.Rows, after.Statements - before.Statements}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cost of %d appends at once mismatch (-want +got):\n%s", n, diff)
	}
	wantSound(t, db)
}

// TestLargeAppendsAreSeveralRows: a page for a reader never needs much more than a page from
// the disk.
func TestLargeAppendsAreSeveralRows(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	h := put(t, db.Tasks(), newHead("anna", "t1"), created(1))
	var es []task.Entry
	for i := range 1000 {
		body := `{"artifactId":"a"}`
		if i%100 == 0 {
			body = `{"artifactId":"a","name":"` + strings.Repeat("x", 700<<10) + `"}`
		}
		es = append(es, task.Entry{Kind: task.Artifact, ArtifactID: "a", Append: true, At: 2, Body: []byte(body)})
	}
	put(t, db.Tasks(), h, es...)
	largest, err := writeValue(t.Context(), db, func(w *writer) (int64, error) {
		return w.conn.number("SELECT max(length(data)) FROM entries")
	})
	if err != nil || largest > sqlstore.MaxRowBytes+(64<<10) {
		t.Errorf("largest row has %d bytes, %v, want at most about %d", largest, err, sqlstore.MaxRowBytes)
	}
	wantSound(t, db)
}

// TestLimitsOfPlaces refuses numbers that exceed the bits of a place.
func TestLimitsOfPlaces(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	h := put(t, db.Tasks(), newHead("anna", "t1"), created(1))
	for name, spoil := range map[string]func(c *task.Change){
		"number of entries": func(c *task.Change) {
			c.Prev.Version, c.Next.Version, c.Entries[0].Version = sqlstore.MaxVersion, sqlstore.MaxVersion+1, sqlstore.MaxVersion+1
		},
		"number of a record": func(c *task.Change) { c.Journal = []task.Record{{Number: sqlstore.MaxVersion + 1}} },
	} {
		c := step(t, h, status(task.Working, 2))
		spoil(c)
		err := db.Tasks().Append(t.Context(), c)
		if err == nil || errors.Is(err, task.ErrConflict) || errors.Is(err, task.ErrUnavailable) {
			t.Errorf("Append with a wrong %s = %v, want an error of its own", name, err)
		}
	}
	got, err := db.Tasks().Head(t.Context(), "anna", "t1")
	if diff := cmp.Diff(h, got); diff != "" || err != nil {
		t.Errorf("Head afterwards: %v, mismatch (-want +got):\n%s", err, diff)
	}
}

// TestPlaces: the rows of one task lie between those of its neighbours, for any number of rows.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, k := range []task.Key{1, 2, sqlstore.MaxKey - 1} {
		in := []int64{sqlstore.Place(k-1, sqlstore.MaxVersion), sqlstore.Place(k, 0), sqlstore.Place(k, 1), sqlstore.Place(k, sqlstore.MaxVersion), sqlstore.Place(k+1, 0)}
		if !slices.IsSorted(in) || len(slices.Compact(slices.Clone(in))) != len(in) || in[0] < 0 {
			t.Errorf("places around task %d are out of order: %d", k, in)
		}
	}
}

func TestLimitsMustBePositive(t *testing.T) {
	t.Parallel()
	tasks := newTest(t).Tasks()
	if _, err := tasks.List(t.Context(), &task.Query{Owner: "anna"}); err == nil {
		t.Error("List without a limit = nil error")
	}
	if _, err := tasks.Due(t.Context(), 0, 0); err == nil {
		t.Error("Open without a limit = nil error")
	}
	if _, err := tasks.Stale(t.Context(), 1, -1); err == nil {
		t.Error("Stale with a negative limit = nil error")
	}
}

// TestManyScopes exceeds the cache of the writer.
func TestManyScopes(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	w := db.writer
	err := db.write(t.Context(), func(*writer) error {
		for range 2 {
			for i := range int64(tables.MaxNames + 10) {
				sc, err := w.scopes.Number(w.conn, task.Owner(fmt.Sprint("o", i/2)), task.Agent(fmt.Sprint("a", i%2)))
				if err != nil {
					return err
				}
				if want := (tables.Scope{Owner: i/2 + 1, ID: i + 1}); sc != want {
					return fmt.Errorf("scope %d = %+v, want %+v", i, sc, want)
				}
			}
		}
		if w.scopes.Len() > tables.MaxNames {
			return fmt.Errorf("%d scopes are remembered", w.scopes.Len())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
