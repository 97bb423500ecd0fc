package sqlitestore

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

// hookOf returns a hook of a task with all fields set.
func hookOf(key task.Key, id string) *task.Hook {
	return &task.Hook{
		Task: key, ID: id, URL: "https://example.org/" + id, Dialect: 3, Scheme: "Bearer",
		Secret: []byte("sealed\x00"), CreatedAt: 5, Position: 1,
	}
}

func lostStep(key task.Key, id string, version int64) task.HookStep {
	return task.HookStep{
		HookRef: task.HookRef{Task: key, ID: id}, Position: version,
		Lost: &task.DeadLetter{First: version, Last: version, At: 9, Attempts: 3, Reason: "refused"},
	}
}

// hooksOf returns the hooks of a task and their dead letters.
func hooksOf(t *testing.T, tasks Tasks, key task.Key) ([]task.Hook, map[string][]task.DeadLetter) {
	t.Helper()
	hooks, err := tasks.Hooks(t.Context(), key, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	letters := map[string][]task.DeadLetter{}
	for _, h := range hooks {
		if letters[h.ID], err = tasks.DeadLetters(t.Context(), h.Ref()); err != nil {
			t.Fatal(err)
		}
	}
	return hooks, letters
}

func TestHooksSurviveReopening(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	db, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := step(t, newHead("anna", "t1"), created(1))
	c.Hook = hookOf(0, "a")
	if err := db.Tasks().Append(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	h := c.Next
	settled := hookOf(h.Key, "b")
	settled.Settled = true
	if err := db.Tasks().PutHook(t.Context(), settled); err != nil {
		t.Fatal(err)
	}
	if err := db.Tasks().Advance(t.Context(), []task.HookStep{lostStep(h.Key, "a", 4)}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	tasks := openTest(t, path, Options{}).Tasks()
	a := *hookOf(h.Key, "a")
	a.Position = 4
	hooks, letters := hooksOf(t, tasks, h.Key)
	if diff := cmp.Diff([]task.Hook{a, *settled}, hooks); diff != "" {
		t.Errorf("hooks after reopening mismatch (-want +got):\n%s", diff)
	}
	wantLetters := map[string][]task.DeadLetter{"a": {*lostStep(h.Key, "a", 4).Lost}, "b": nil}
	if diff := cmp.Diff(wantLetters, letters); diff != "" {
		t.Errorf("dead letters after reopening mismatch (-want +got):\n%s", diff)
	}
	open, err := tasks.Unsettled(t.Context(), task.HookRef{}, 10)
	if diff := cmp.Diff([]task.Hooked{{Hook: a, Head: h}}, open); err != nil || diff != "" {
		t.Errorf("unsettled after reopening: %v, mismatch (-want +got):\n%s", err, diff)
	}
}

// TestHooksAreAllOrNothing makes the disk refuse the last part of a change or of a batch of
// steps. The earlier parts must not be stored either.
func TestHooksAreAllOrNothing(t *testing.T) {
	t.Parallel()
	db, tune := startTuned(t)
	tasks := db.Tasks()
	h := put(t, tasks, newHead("anna", "t1"), created(1))
	for _, id := range []string{"a", "b"} {
		if err := tasks.PutHook(t.Context(), hookOf(h.Key, id)); err != nil {
			t.Fatal(err)
		}
	}
	tune.Store(`CREATE TEMP TRIGGER refuse_hooks BEFORE INSERT ON hooks BEGIN SELECT RAISE(FAIL, 'refused'); END;
		CREATE TEMP TRIGGER refuse_steps BEFORE UPDATE ON hooks WHEN old.id = 'b' BEGIN SELECT RAISE(FAIL, 'refused'); END`)
	breakOff(t, db)

	steps := []task.HookStep{lostStep(h.Key, "a", 5), lostStep(h.Key, "b", 5)}
	if err := tasks.Advance(t.Context(), steps); !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("Advance = %v, want ErrUnavailable", err)
	}
	follow := step(t, h, status(task.Working, 2))
	follow.Hook = hookOf(0, "c")
	create := step(t, newHead("anna", "t2"), created(1))
	create.Hook = hookOf(0, "c")
	for _, c := range []*task.Change{follow, create} {
		if err := tasks.Append(t.Context(), c); !errors.Is(err, task.ErrUnavailable) {
			t.Errorf("Append with a hook = %v, want ErrUnavailable", err)
		}
		if c.Hook.Task != 0 {
			t.Errorf("the hook of a change that is not stored is of task %d", c.Hook.Task)
		}
	}
	hooks, letters := hooksOf(t, tasks, h.Key)
	if diff := cmp.Diff([]task.Hook{*hookOf(h.Key, "a"), *hookOf(h.Key, "b")}, hooks); diff != "" {
		t.Errorf("hooks mismatch (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]task.DeadLetter{"a": nil, "b": nil}, letters); diff != "" {
		t.Errorf("dead letters mismatch (-want +got):\n%s", diff)
	}
	if got, err := tasks.Head(t.Context(), "anna", "t1"); err != nil || got.Rev != h.Rev {
		t.Errorf("Head = rev %d, %v, want %d", got.Rev, err, h.Rev)
	}
	if _, err := tasks.Head(t.Context(), "anna", "t2"); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("Head of the task that was not created = %v, want ErrNotFound", err)
	}

	tune.Store("")
	breakOff(t, db)
	if err := tasks.Append(t.Context(), follow); err != nil {
		t.Errorf("Append when hooks can be stored again = %v", err)
	}
	if err := tasks.Advance(t.Context(), steps); err != nil {
		t.Errorf("Advance when hooks can be stored again = %v", err)
	}
	if _, letters := hooksOf(t, tasks, h.Key); len(letters["a"]) != 1 || len(letters["b"]) != 1 {
		t.Errorf("dead letters = %v, want one for a and b", letters)
	}
}

// BenchmarkUnsettled reads all hooks, as a hub does at its start.
func BenchmarkUnsettled(b *testing.B) {
	const hooks = 100_000
	db := newTest(b)
	var key task.Key
	for i := range hooks / 100 {
		h := put(b, db.Tasks(), newHead("anna", fmt.Sprint("t", i)), created(1))
		err := db.write(b.Context(), func(w *writer) error {
			for j := range 100 {
				if err := tables.SendHook(w.conn, hookOf(h.Key, fmt.Sprint("h", j))); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		key = h.Key
	}
	for b.Loop() {
		n, after := 0, task.HookRef{}
		for {
			page, err := db.Tasks().Unsettled(b.Context(), after, 1000)
			if err != nil {
				b.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			n += len(page)
			after = page[len(page)-1].Ref()
		}
		if n != hooks || after.Task != key {
			b.Fatalf("%d hooks, want %d", n, hooks)
		}
	}
}
