package sqlitestore

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/store/dump"
	"github.com/parley-a2a/parley/internal/task"
)

// largeBody returns a message of n MiB whose text differs by letter.
func largeBody(n int, letter string) []byte {
	return []byte(`{"messageId":"m1","text":"` + strings.Repeat(letter, n<<20) + `"}`)
}

// largeStep returns a change that stores a message of 3 MiB.
func largeStep(t *testing.T, id string) *task.Change {
	t.Helper()
	e := created(1)
	e.Body = largeBody(3, "x")
	return step(t, newHead("anna", id), e)
}

// during opens a store that calls at, on the goroutine of the writer, after the given number of
// commits.
func during(t *testing.T, commits int64, at func(*DB)) (db *DB, count *atomic.Int64) {
	t.Helper()
	count = new(atomic.Int64)
	var opened atomic.Pointer[DB]
	db = openTest(t, filepath.Join(t.TempDir(), "parley.db"), Options{Committed: func(c Commit) {
		if db := opened.Load(); count.Add(1) == commits && db != nil {
			at(db)
		}
	}})
	opened.Store(db)
	return db, count
}

// piecesOf returns the number of pieces, and that of changes in pieces that are not complete.
func piecesOf(t *testing.T, db *DB) (n, staged int64) {
	t.Helper()
	// Requests that wait are served first.
	err := db.writeLarge(t.Context(), pieceSize, func(w *writer) (err error) {
		if n, err = w.conn.number("SELECT count(*) FROM pieces"); err == nil {
			staged, err = w.conn.number("SELECT count(*) FROM staged")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n, staged
}

func wantPieces(t *testing.T, db *DB, want int64) {
	t.Helper()
	if n, staged := piecesOf(t, db); n != want || staged != 0 {
		t.Errorf("%d pieces, %d incomplete changes, want %d and none", n, staged, want)
	}
}

// TestSmallWritesPassALargeOne: a small write that comes in the middle of a large one is stored first.
func TestSmallWritesPassALargeOne(t *testing.T) {
	t.Parallel()
	var passed atomic.Bool
	db, count := during(t, 3, func(db *DB) {
		_ = db.writer.queue.Send(&request{done: make(chan error, 1), job: func(w *writer) error {
			n, err := w.conn.number("SELECT count(*) FROM tasks")
			passed.Store(n == 0)
			return err
		}})
	})
	if err := db.Tasks().Append(t.Context(), largeStep(t, "t1")); err != nil {
		t.Fatal(err)
	}
	if !passed.Load() {
		t.Errorf("the small write waited for all of the large one, which took %d commits", count.Load())
	}
}

// TestLargeRowsAreWhole reads rows that were written in pieces, by each method.
func TestLargeRowsAreWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	db := openTest(t, path, Options{})
	c := largeStep(t, "t1")
	if err := db.Tasks().Append(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	end := status(task.Completed, 3)
	end.Body = largeBody(2, "y")
	want := put(t, db.Tasks(), c.Next, status(task.Working, 2), end)
	wantHead(t, db, want)
	page, err := db.Tasks().List(t.Context(), &task.Query{Owner: "anna", Limit: 10})
	if err != nil || len(page.Heads) != 1 || string(page.Heads[0].StatusMessage) != string(end.Body) {
		t.Errorf("List = %d tasks, %v, want one with its message", len(page.Heads), err)
	}
	for after, body := range map[int64][]byte{0: c.Entries[0].Body, 2: end.Body} {
		es, err := db.Tasks().Read(t.Context(), want.Key, after)
		if err != nil || len(es) == 0 || string(es[0].Body) != string(body) {
			t.Errorf("Read after %d = %d entries, %v, want the large one first", after, len(es), err)
		}
	}
	wantPieces(t, db, 7+5)
	wantSound(t, db)
	if texts, _ := problems(t, path); len(texts) > 0 {
		t.Errorf("Examine reports %q", texts)
	}
	salvaged := filepath.Join(t.TempDir(), "salvaged.db")
	if r, err := Salvage(t.Context(), path, salvaged); err != nil || r.Tasks != 1 || len(r.Cut) != 0 {
		t.Errorf("Salvage = %+v, %v, want the task", r, err)
	}
	wantHead(t, openTest(t, salvaged, Options{}), want)
}

func wantHead(t *testing.T, db *DB, want task.Head) {
	t.Helper()
	got, err := db.Tasks().Head(t.Context(), want.Owner, want.ID)
	if err == nil && reflect.DeepEqual(want, got) {
		return // cmp visits each byte of a large body
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("Head: %v, mismatch (-want +got):\n%.2000s", err, diff)
	}
}

// dumped keeps the last columns of the rows of the named tables.
type dumped struct {
	table string
	last  map[string][]byte
}

func (d *dumped) Table(t *dump.Table) error {
	d.table = t.Name
	return nil
}

func (d *dumped) Row(row []dump.Value) error {
	d.last[d.table] = append([]byte{}, row[len(row)-1].Bytes...)
	return nil
}

// TestDumpHasNoReferences: a dump has the content of the pieces, which other stores do not have.
func TestDumpHasNoReferences(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	db := openTest(t, path, Options{})
	e := created(1)
	e.Body = nil
	end := status(task.Completed, 3)
	end.Body = largeBody(2, "y")
	put(t, db.Tasks(), newHead("anna", "t1"), e, end)
	d := &dumped{last: map[string][]byte{}}
	if err := Dump(t.Context(), path, d); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"tasks", "entries"} {
		if !strings.Contains(string(d.last[table]), string(end.Body)) {
			t.Errorf("%s: the row has %d bytes, and not the message", table, len(d.last[table]))
		}
	}
}

// TestLargeChangeThatIsNotMade: nothing is left of a large change that loses against another, or whose
// caller leaves.
func TestLargeChangeThatIsNotMade(t *testing.T) {
	t.Parallel()
	t.Run("conflict", func(t *testing.T) {
		t.Parallel()
		db := newTest(t)
		put(t, db.Tasks(), newHead("anna", "t1"), created(1))
		if err := db.Tasks().Append(t.Context(), largeStep(t, "t1")); !errors.Is(err, task.ErrExists) {
			t.Errorf("Append = %v, want ErrExists", err)
		}
		wantPieces(t, db, 0)
	})
	for name, commits := range map[string]int64{"before the first piece": 1, "in the middle": 4, "after the last": 8} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			db, _ := during(t, commits, func(*DB) { cancel() })
			if err := db.Tasks().Append(ctx, largeStep(t, "t1")); !errors.Is(err, context.Canceled) {
				t.Fatalf("Append = %v, want context.Canceled", err)
			}
			// The writer has all requests of the change before this one.
			wantPieces(t, db, 0)
			if _, err := db.Tasks().Head(t.Context(), "anna", "t1"); !errors.Is(err, task.ErrNotFound) {
				t.Errorf("Head = %v, want ErrNotFound", err)
			}
			wantSound(t, db)
			put(t, db.Tasks(), newHead("anna", "t1"), created(1))
		})
	}
}

// TestPiecesOfADeadProcessAreDeleted: the process was killed before the change was complete.
func TestPiecesOfADeadProcessAreDeleted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	db, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := largeStep(t, "dead")
	var ch change
	ch.Set(c, appendHead(nil, c))
	if err := db.stage(t.Context(), &ch); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if texts, _ := problems(t, path); len(texts) > 0 {
		t.Errorf("Examine reports %q", texts)
	}
	db = openTest(t, path, Options{})
	if err := db.Tasks().Append(t.Context(), largeStep(t, "t1")); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Tasks().Sweep(t.Context(), 0, 10); err != nil {
		t.Fatal(err)
	}
	wantPieces(t, db, 7)
	wantSound(t, db)
}

// TestSweepDeletesPieces: the pieces of deleted tasks are deleted, a few in each commit.
func TestSweepDeletesPieces(t *testing.T) {
	t.Parallel()
	db, count := during(t, 0, nil)
	large := created(1)
	large.Body = largeBody(20, "x")
	put(t, db.Tasks(), newHead("anna", "t1"), large, status(task.Completed, 2))
	kept := newHead("anna", "t2")
	large.Body = largeBody(1, "z")
	kept = put(t, db.Tasks(), kept, large)
	before := count.Load()
	if n, err := db.Tasks().Sweep(t.Context(), 100, 10); n != 1 || err != nil {
		t.Fatalf("Sweep = %d, %v, want one task", n, err)
	}
	if got := count.Load() - before; got < 4 {
		t.Errorf("41 pieces were deleted in %d commits, want some in each", got)
	}
	wantPieces(t, db, 3)
	wantHead(t, db, kept)
	wantSound(t, db)
}

// TestLostPieces: a task with a missing piece is damaged, and is reported and salvaged as one whose log
// is cut.
func TestLostPieces(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	db := openTest(t, path, Options{})
	h := put(t, db.Tasks(), newHead("anna", "t1"), created(1))
	end := status(task.Completed, 3)
	end.Body = largeBody(2, "y")
	h = put(t, db.Tasks(), h, end)
	err := db.write(t.Context(), func(w *writer) error {
		return w.conn.script("DELETE FROM pieces WHERE id = (SELECT max(id) FROM pieces)")
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Tasks().Head(t.Context(), "anna", "t1"); !errors.Is(err, ErrDamaged) {
		t.Errorf("Head = %v, want ErrDamaged", err)
	}
	if _, err := db.Tasks().Read(t.Context(), h.Key, 1); !errors.Is(err, ErrDamaged) {
		t.Errorf("Read = %v, want ErrDamaged", err)
	}
	if texts, _ := problems(t, path); len(texts) != 1 || !strings.Contains(texts[0], "t1") {
		t.Errorf("Examine reports %q, want the task", texts)
	}
	salvaged := filepath.Join(t.TempDir(), "salvaged.db")
	r, err := Salvage(t.Context(), path, salvaged)
	if err != nil || r.Tasks != 1 || len(r.Cut) != 1 {
		t.Errorf("Salvage = %+v, %v, want the task, cut", r, err)
	}
	if texts, _ := problems(t, salvaged); len(texts) > 0 {
		t.Errorf("Examine of the salvaged file reports %q", texts)
	}
}

// TestCheckpointerMovesPages: writes wake the checkpointer, which leaves the writer nothing to move.
func TestCheckpointerMovesPages(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	cp := newCheckpointer(db.writer.opts, db.writer.files)
	cp.wrote(checkpointEvery - 1)
	if len(cp.wake) != 0 {
		t.Error("a few bytes have woken the checkpointer")
	}
	cp.wrote(1)
	if len(cp.wake) != 1 {
		t.Error("many bytes have not woken the checkpointer")
	}
	if err := db.Tasks().Append(t.Context(), largeStep(t, "t1")); err != nil {
		t.Fatal(err)
	}
	c, err := openConn(cp.opts)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := cp.round(c); err != nil {
		t.Fatal(err)
	}
	if left, err := passive(c); left != 0 || err != nil {
		t.Errorf("%d pages are left, %v", left, err)
	}
	info, err := db.writer.files.db.Stat()
	if err != nil || info.Size() < 3<<20 {
		t.Errorf("the file has %d bytes, %v, want the large row in it", info.Size(), err)
	}
}

// TestSmallWritesCount: the checkpointer works for many small changes as well, of which each writes a few
// pages.
func TestSmallWritesCount(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	cp := db.writer.checkpointer
	before := cp.bytes // it belongs to the writer, which answers afterwards
	change := step(t, newHead("anna", "t1"), created(1))
	if err := db.Tasks().Append(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	if got := cp.bytes - before; got < pagesOfChange {
		t.Errorf("a change counts as %d bytes, want its pages", got)
	}
}
