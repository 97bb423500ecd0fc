package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

// rowsOf returns the number of rows in the tables that belong to tasks.
func rowsOf(t *testing.T, db *DB) map[string]int64 {
	t.Helper()
	got := map[string]int64{}
	err := db.view(t.Context(), func(c *conn) error {
		for _, name := range []string{
			"tasks", "entries", "doomed", "snapshots", "sidecars", "requests", "messages", "hooks", "dead_letters",
			"journal",
		} {
			n, err := c.number("SELECT count(*) FROM " + name)
			if err != nil {
				return err
			}
			if n > 0 {
				got[name] = n
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestSweepDeletesAllRowsOfATask fills the tables of other parts, too.
func TestSweepDeletesAllRowsOfATask(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	var keys []task.Key
	for i := range 2 {
		h := put(t, db.Tasks(), newHead("anna", fmt.Sprint("t", i)), created(1), status(task.Completed, task.Millis(10+i)))
		if err := db.Tasks().SaveSnapshot(t.Context(), h.Key, task.Snapshot{Version: 2}); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, h.Key)
	}
	err := db.write(t.Context(), func(w *writer) error {
		for _, k := range keys {
			err := w.conn.script(fmt.Sprintf(`
				INSERT INTO sidecars VALUES (%[1]d, 0, x'00'), (1 << 39 | %[1]d, 0, x'00'), (2 << 39 | %[1]d, 1, x'00');
				INSERT INTO journal VALUES (%[1]d << 24 | 1, x'00'), (%[1]d << 24 | 2, x'00');
				INSERT INTO requests VALUES (1, 'r%[1]d', x'00', %[1]d, 1, 1);
				INSERT INTO messages VALUES (1, 'm%[1]d', %[1]d);
				INSERT INTO hooks VALUES (%[1]d, 'p', 'https://example.org', 0, '', NULL, 0, 1, 0);
				INSERT INTO dead_letters VALUES (%[1]d, 'p', 1, 2, 3, 4, 'why')`, k))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := db.Tasks().Sweep(t.Context(), 11, 10); n != 1 || err != nil {
		t.Fatalf("Sweep = %d, %v, want 1", n, err)
	}
	want := map[string]int64{
		"tasks": 1, "entries": 1, "snapshots": 1, "sidecars": 3, "requests": 1, "messages": 1, "hooks": 1, "dead_letters": 1,
		"journal": 2,
	}
	if diff := cmp.Diff(want, rowsOf(t, db)); diff != "" {
		t.Errorf("rows of the other task mismatch (-want +got):\n%s", diff)
	}
	wantSound(t, db)
}

// long stores an ended task with many rows of entries.
func long(t *testing.T, db *DB, id string, rows int) task.Head {
	t.Helper()
	h := put(t, db.Tasks(), newHead("anna", id), created(1))
	for range rows - 2 {
		h = put(t, db.Tasks(), h, task.Entry{
			Kind: task.Artifact, ArtifactID: "a", Append: true, At: 2, Body: make([]byte, 2000),
		})
	}
	return put(t, db.Tasks(), h, status(task.Completed, 3))
}

// TestSweepOfALongTaskIsSliced checks the deletions of each commit.
func TestSweepOfALongTaskIsSliced(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	h := long(t, db, "t1", 2*tables.SliceRows+50)
	if n, err := tables.DeleteEnded(t.Context(), shared{db}, 100, 10); n != 1 || err != nil {
		t.Fatalf("DeleteEnded = %d, %v, want 1", n, err)
	}
	if _, err := db.Tasks().Read(t.Context(), h.Key, 0); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("Read of a doomed task = %v, want ErrNotFound", err)
	}
	for i, want := range []map[string]int64{
		{"doomed": 1, "entries": 2*tables.SliceRows + 50},
		{"doomed": 1, "entries": tables.SliceRows + 50},
		{"doomed": 1, "entries": 50},
		{},
	} {
		if diff := cmp.Diff(want, rowsOf(t, db)); diff != "" {
			t.Errorf("rows before slice %d mismatch (-want +got):\n%s", i, diff)
		}
		if _, err := writeValue(t.Context(), db, (*writer).deleteDoomed); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSweepFinishesAnInterruptedSweep stops a sweep in the middle of a long task.
func TestSweepFinishesAnInterruptedSweep(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	db, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	long(t, db, "t1", 2*tables.SliceRows)
	if _, err := tables.DeleteEnded(t.Context(), shared{db}, 100, 10); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = openTest(t, path, Options{})
	if n, err := db.Tasks().Sweep(t.Context(), 100, 10); n != 0 || err != nil {
		t.Errorf("Sweep = %d, %v, want 0", n, err)
	}
	if diff := cmp.Diff(map[string]int64{}, rowsOf(t, db)); diff != "" {
		t.Errorf("rows left mismatch (-want +got):\n%s", diff)
	}
}

// TestSweepShrinksTheFile deletes nine tasks of ten.
func TestSweepShrinksTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	db := openTest(t, path, Options{})
	for i := range 1000 {
		e := created(1)
		e.Body = make([]byte, 10_000)
		put(t, db.Tasks(), newHead("anna", fmt.Sprint("t", i)), e, status(task.Completed, task.Millis(i+2)))
	}
	pages := func() int64 {
		n, err := writeValue(t.Context(), db, func(w *writer) (int64, error) { return w.conn.number("PRAGMA page_count") })
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := pages()
	if n, err := db.Tasks().Sweep(t.Context(), 902, 1<<20); n != 900 || err != nil {
		t.Fatalf("Sweep = %d, %v, want 900", n, err)
	}
	if after, most := pages(), before/10+slicePages+slicePages/2; after > most {
		t.Errorf("%d of %d pages are left, want at most %d", after, before, most)
	}
	wantSound(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > before*4096/2 {
		t.Errorf("the file has %d bytes, %v, want less than half of %d", info.Size(), err, before*4096)
	}
}

func TestSweepStopsWithItsContext(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	for i := range 3 {
		put(t, db.Tasks(), newHead("anna", fmt.Sprint("t", i)), created(1), status(task.Completed, 2))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := db.Tasks().Sweep(ctx, 100, 10); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("Sweep after cancellation = %d, %v, want context.Canceled", n, err)
	}
	page, err := db.Tasks().List(t.Context(), &task.Query{Owner: "anna", Limit: 10})
	if err != nil || page.Total != 3 {
		t.Errorf("%d tasks are left, %v, want 3", page.Total, err)
	}
}

// TestSweepAmongAppends: a task that changes while it is swept is either kept or deleted.
func TestSweepAmongAppends(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 300 {
			h := put(t, db.Tasks(), newHead("anna", fmt.Sprint("t", i)), created(1))
			put(t, db.Tasks(), h, status(task.Completed, 2))
		}
	}()
	swept := 0
	for {
		n, err := db.Tasks().Sweep(t.Context(), 100, 10)
		if err != nil {
			t.Fatal(err)
		}
		swept += n
		select {
		case <-done:
			n, err := db.Tasks().Sweep(t.Context(), 100, 1000)
			if err != nil || swept+n != 300 {
				t.Errorf("%d tasks were swept, %v, want 300", swept+n, err)
			}
			wantSound(t, db)
			return
		default:
		}
	}
}
