package sqlitestore

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/task"
)

// TestStates counts the tasks of all owners, except those not shown to callers.
func TestStates(t *testing.T) {
	t.Parallel()
	tasks := newTest(t).Tasks()
	put(t, tasks, newHead("anna", "t1"), created(5), status(task.Completed, 6))
	put(t, tasks, newHead("bob", "t2"), created(5), status(task.Completed, 6))
	put(t, tasks, newHead("bob", "t3"), created(5))
	quiet := newHead("bob", "t4")
	quiet.Visibility = task.Hidden
	put(t, tasks, quiet, created(5))
	got, err := tasks.States(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[task.State]int{task.Completed: 2, task.Submitted: 1}
	if diff := cmp.Diff(want, got, cmp.FilterValues(func(a, b int) bool { return a == 0 || b == 0 }, cmp.Ignore())); diff != "" {
		t.Errorf("States mismatch (-want +got):\n%s", diff)
	}
}

// TestCommitted: each commit is reported, with its outcome.
func TestCommitted(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var all []Commit
	db := openTest(t, filepath.Join(t.TempDir(), "db"), Options{Committed: func(c Commit) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, c)
	}})
	tasks := db.Tasks()
	put(t, tasks, newHead("anna", "t1"), created(5))
	if err := db.write(t.Context(), func(*writer) error { return errors.New("the disk has a bad day") }); err == nil {
		t.Fatal("write = nil, want the error of the job")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].Changes != 1 || all[0].Err != nil || all[0].Took <= 0 || !errors.Is(all[1].Err, task.ErrUnavailable) {
		t.Errorf("commits = %+v, want one that was stored and one that was not", all)
	}
}
