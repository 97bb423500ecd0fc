package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/task"
)

// startTuned opens a store whose writing connections, when opened, run the pragma stored in
// tune.
func startTuned(t *testing.T) (db *DB, tune *atomic.Value) {
	t.Helper()
	tune = new(atomic.Value)
	db = openTest(t, filepath.Join(t.TempDir(), "db"), Options{prepare: func(c *conn) error {
		if pragma, _ := tune.Load().(string); pragma != "" {
			return c.script(pragma)
		}
		return nil
	}})
	return db, tune
}

// breakOff makes the next commit fail, after which the writer opens a new connection.
func breakOff(t *testing.T, db *DB) {
	t.Helper()
	err := db.write(t.Context(), func(*writer) error { return errors.New("broken on purpose") })
	if !errors.Is(err, task.ErrUnavailable) {
		t.Fatalf("write = %v, want ErrUnavailable", err)
	}
}

// TestWriterHeals removes the permission or the space to write for a while.
func TestWriterHeals(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pragma string
		want   error
	}{
		"full":      {"PRAGMA max_page_count = 1", task.ErrFull},
		"read-only": {"PRAGMA query_only = 1", task.ErrReadOnly},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, tune := startTuned(t)
			tasks := db.Tasks()
			h := put(t, tasks, newHead("anna", "t1"), created(1))

			tune.Store(tt.pragma)
			breakOff(t, db)
			large := created(2)
			large.Body = []byte(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`)
			lost := step(t, newHead("anna", "t2"), large)
			for range 3 {
				err := tasks.Append(t.Context(), lost)
				if !errors.Is(err, tt.want) || !errors.Is(err, task.ErrUnavailable) {
					t.Fatalf("Append = %v, want %v", err, tt.want)
				}
			}
			got, err := tasks.Head(t.Context(), "anna", "t1")
			if diff := cmp.Diff(h, got); diff != "" || err != nil {
				t.Errorf("Head meanwhile: %v, mismatch (-want +got):\n%s", err, diff)
			}
			if _, err := tasks.Head(t.Context(), "anna", "t2"); !errors.Is(err, task.ErrNotFound) {
				t.Errorf("Head of a task that was not stored = %v, want ErrNotFound", err)
			}

			tune.Store("")
			// The last append noticed the full disk and closed the connection; the next one
			// finds space.
			if err := tasks.Append(t.Context(), lost); err != nil {
				t.Errorf("Append after healing = %v", err)
			}
			put(t, tasks, h, status(task.Completed, 3))
			wantSound(t, db)
		})
	}
}

// TestFailedCommitFailsAll: the outcome of every change in a failed commit is unknown, even of
// a conflicting one.
func TestFailedCommitFailsAll(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	tasks := db.Tasks()
	h := put(t, tasks, newHead("anna", "t1"), created(1))
	old := step(t, h, status(task.Working, 2))
	put(t, tasks, h, status(task.Working, 2))

	release := blockWriter(t, db)
	var g sync.WaitGroup
	for i := range 5 {
		g.Go(func() {
			c := step(t, newHead("bert", fmt.Sprint(i)), created(1))
			if i == 4 {
				c = old
			}
			if err := tasks.Append(t.Context(), c); !errors.Is(err, task.ErrUnavailable) {
				t.Errorf("Append %d = %v, want ErrUnavailable", i, err)
			}
		})
	}
	g.Go(func() {
		err := db.write(t.Context(), func(*writer) error { return errors.New("broken on purpose") })
		if err == nil || !strings.Contains(err.Error(), "broken on purpose") {
			t.Errorf("write = %v, want the cause", err)
		}
	})
	waitQueued(db, 6)
	release()
	g.Wait()
	page, err := tasks.List(t.Context(), &task.Query{Owner: "bert", Limit: 10})
	if err != nil || page.Total != 0 || len(page.Heads) != 0 {
		t.Errorf("List = %d tasks, total %d, %v, want none", len(page.Heads), page.Total, err)
	}
	put(t, tasks, newHead("bert", "0"), created(1))
	wantSound(t, db)
}

// blockWriter keeps the writer in a commit until release is called.
func blockWriter(t *testing.T, db *DB) (release func()) {
	t.Helper()
	inside, leave := make(chan struct{}), make(chan struct{})
	var g sync.WaitGroup
	g.Go(func() {
		err := db.write(context.Background(), func(*writer) error {
			close(inside)
			<-leave
			return nil
		})
		if err != nil {
			t.Errorf("blocking write = %v", err)
		}
	})
	<-inside
	release = sync.OnceFunc(func() {
		close(leave)
		g.Wait()
	})
	t.Cleanup(release)
	return release
}

// waitQueued waits until n requests wait for the writer, which must be blocked.
func waitQueued(db *DB, n int) {
	for {
		waiting := db.writer.queue.Waiting()
		if waiting >= n {
			return
		}
		runtime.Gosched()
	}
}

// wantSound fails the test unless the file is consistent: heads agree with entries, counters
// with tasks, and SQLite's own check passes.
func wantSound(t *testing.T, db *DB) {
	t.Helper()
	if err := db.Check(t.Context()); err != nil {
		t.Error(err)
	}
	err := db.view(t.Context(), func(c *conn) error {
		for text, want := range map[string]int64{
			`SELECT count(*) FROM (SELECT scope, state, count(*) FROM tasks WHERE shown = 0 GROUP BY 1, 2
				EXCEPT SELECT * FROM counters)`: 0,
			`SELECT count(*) FROM (SELECT * FROM counters WHERE n <> 0
				EXCEPT SELECT scope, state, count(*) FROM tasks WHERE shown = 0 GROUP BY 1, 2)`: 0,
			`SELECT count(*) FROM entries WHERE place >> 24 NOT IN (SELECT key FROM tasks UNION SELECT task FROM doomed)`: 0,
			`SELECT count(*) FROM pieces p WHERE place NOT IN (SELECT place FROM entries)
				AND place >> 24 NOT IN (SELECT task FROM doomed)
				AND NOT EXISTS (SELECT 1 FROM staged WHERE p.id >= first AND p.id < first + n)`: 0,
			`SELECT count(*) FROM tasks WHERE key >= (SELECT next_key FROM sequence)`: 0,
		} {
			if got, err := c.number(text); err != nil || got != want {
				t.Errorf("%s\n= %d, %v, want %d", text, got, err, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	eachTask(t, db, func(h task.Head, es []task.Entry) {
		if int64(len(es)) != h.Version {
			t.Errorf("%s/%s: %d entries, head is at version %d", h.Owner, h.ID, len(es), h.Version)
		}
		for i := range es {
			if es[i].Version != int64(i)+1 {
				t.Errorf("%s/%s: entry %d has version %d", h.Owner, h.ID, i, es[i].Version)
				return
			}
		}
	})
}

var qAllHeads = prepared("SELECT " + columns + " FROM tasks t ORDER BY t.key")

// eachTask calls f with every task and its log.
func eachTask(t *testing.T, db *DB, f func(task.Head, []task.Entry)) {
	t.Helper()
	var all []task.Head
	err := db.read(t.Context(), func(c *conn) (err error) {
		s := c.start(qAllHeads)
		all, err = heads(&s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range all {
		var es []task.Entry
		for {
			page, err := db.Tasks().Read(t.Context(), h.Key, int64(len(es)))
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			es = append(es, page...)
		}
		f(h, es)
	}
}

func TestCancellationStopsTheWaitingOnly(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	release := blockWriter(t, db)
	ctx, cancel := context.WithCancelCause(t.Context())
	c := step(t, newHead("anna", "t1"), created(1))
	checkpoint := []byte("checkpoint")
	c.Sidecars[task.SidecarCheckpoint] = checkpoint
	failed := make(chan error)
	go func() { failed <- db.Tasks().Append(ctx, c) }()
	waitQueued(db, 1)
	why := errors.New("caller went away")
	cancel(why)
	if err := <-failed; !errors.Is(err, why) {
		t.Errorf("Append = %v, want the cause of the cancellation", err)
	}
	clear(checkpoint) // the caller may reuse it
	release()
	// The queue is in order: this write comes after the other.
	put(t, db.Tasks(), newHead("anna", "t2"), created(1))
	h, err := db.Tasks().Head(t.Context(), "anna", "t1")
	if err != nil || h.Key == 0 {
		t.Errorf("Head of a task whose caller left = %v, want it stored", err)
	}
	if got, err := db.Tasks().Sidecar(t.Context(), h.Key, task.SidecarCheckpoint); string(got) != "checkpoint" || err != nil {
		t.Errorf("its checkpoint is %q, %v", got, err)
	}
	wantSound(t, db)
}

func TestReadersDoNotWaitForTheWriter(t *testing.T) {
	t.Parallel()
	db := newTest(t)
	h := put(t, db.Tasks(), newHead("anna", "t1"), created(1))
	inside, leave := make(chan struct{}), make(chan struct{})
	var g sync.WaitGroup
	g.Go(func() {
		_ = db.write(context.Background(), func(w *writer) error {
			s := w.conn.bind(sharedQuery("DELETE FROM tasks WHERE key"), h.Key)
			err := s.done() // in the middle of a transaction
			close(inside)
			<-leave
			return errors.Join(err, errors.New("undo"))
		})
	})
	<-inside
	if got, err := db.Tasks().Head(t.Context(), "anna", "t1"); err != nil || got.Rev != 1 {
		t.Errorf("Head during a commit = rev %d, %v, want 1", got.Rev, err)
	}
	if page, err := db.Tasks().List(t.Context(), &task.Query{Owner: "anna", Limit: 1}); err != nil || page.Total != 1 {
		t.Errorf("List during a commit = %d, %v, want 1", page.Total, err)
	}
	close(leave)
	g.Wait()
}

func TestReadersAreLimited(t *testing.T) {
	t.Parallel()
	db := openTest(t, filepath.Join(t.TempDir(), "db"), Options{Readers: 1})
	err := db.read(t.Context(), func(*conn) error {
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() { failed <- db.read(ctx, func(*conn) error { return nil }) }()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("read beyond the limit = %v, want context.Canceled", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := db.read(t.Context(), func(*conn) error { return nil }); err != nil {
		t.Errorf("read afterwards = %v", err)
	}
}

// TestFailedReaderIsReplaced: a transaction must not stay open on a connection that is reused.
func TestFailedReaderIsReplaced(t *testing.T) {
	t.Parallel()
	db := openTest(t, filepath.Join(t.TempDir(), "db"), Options{Readers: 1})
	err := db.view(t.Context(), func(*conn) error { return errors.New("broken on purpose") })
	if !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("view = %v, want ErrUnavailable", err)
	}
	if err := db.view(t.Context(), func(*conn) error { return nil }); err != nil {
		t.Errorf("view afterwards = %v", err)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	db, tune := startTuned(t)
	for range 2 {
		if err := db.Tasks().Probe(t.Context()); err != nil {
			t.Errorf("Probe = %v", err)
		}
	}
	tune.Store("PRAGMA query_only = 1")
	breakOff(t, db)
	if err := db.Tasks().Probe(t.Context()); !errors.Is(err, task.ErrReadOnly) {
		t.Errorf("Probe = %v, want ErrReadOnly", err)
	}
}

// TestCloseWaits closes a store during many writes: acknowledged writes are stored, and the
// errors of the others say that the outcome is unknown.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	db, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var stored atomic.Int64
	busy := make(chan struct{}, 1)
	var g sync.WaitGroup
	for w := range 16 {
		g.Go(func() {
			for i := 0; ; i++ {
				err := db.Tasks().Append(t.Context(), step(t, newHead("anna", fmt.Sprint(w, "-", i)), created(1)))
				if err != nil {
					if !errors.Is(err, task.ErrUnavailable) {
						t.Errorf("Append = %v, want ErrUnavailable", err)
					}
					return
				}
				stored.Add(1)
				if i == 20 {
					select {
					case busy <- struct{}{}:
					default:
					}
				}
			}
		})
	}
	<-busy
	for range 2 {
		if err := db.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	}
	g.Wait()
	if _, err := db.Tasks().Head(t.Context(), "anna", "0-0"); !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("Head after Close = %v, want ErrUnavailable", err)
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("write-ahead log after Close: %v, want none", err)
	}
	db = openTest(t, path, Options{})
	page, err := db.Tasks().List(t.Context(), &task.Query{Owner: "anna", Limit: 1})
	if err != nil || int64(page.Total) != stored.Load() {
		t.Errorf("%d tasks, %v; %d were acknowledged", page.Total, err, stored.Load())
	}
	wantSound(t, db)
}
