package sqlitestore

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/task"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		os.Exit(runChild(path))
	}
	goleak.VerifyTestMain(m)
}

// openTest opens a file and closes it with the test.
func openTest(tb testing.TB, path string, o Options) *DB {
	tb.Helper()
	db, err := Open(path, o)
	if err != nil {
		tb.Fatalf("Open: %v", err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return db
}

func newTest(tb testing.TB) *DB {
	tb.Helper()
	return openTest(tb, filepath.Join(tb.TempDir(), "parley.db"), Options{})
}

// step returns a change that applies entries to h.
func step(tb testing.TB, h task.Head, es ...task.Entry) *task.Change {
	tb.Helper()
	c, err := stepped(h, es...)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func stepped(h task.Head, es ...task.Entry) (*task.Change, error) {
	c := &task.Change{Prev: h, Next: h}
	if h.Rev == 0 {
		c.Prev = task.Head{}
	}
	for _, e := range es {
		next, e, err := task.Apply(c.Next, e)
		if err != nil {
			return nil, fmt.Errorf("apply %+v: %w", e, err)
		}
		c.Next = next
		c.Entries = append(c.Entries, e)
	}
	c.Next.Rev++
	return c, nil
}

// newHead returns the head of a task that is not stored yet.
func newHead(owner task.Owner, id string) task.Head {
	return task.Head{ID: a2a.TaskID(id), Owner: owner, Agent: "echo", ContextID: "context-" + id}
}

func created(at task.Millis) task.Entry {
	return task.Entry{Kind: task.Created, State: task.Submitted, At: at, Body: []byte(`{"messageId":"m1"}`)}
}

func status(s task.State, at task.Millis) task.Entry {
	return task.Entry{Kind: task.Status, State: s, At: at}
}

// put applies entries to h, stores it and returns the stored head.
func put(tb testing.TB, tasks Tasks, h task.Head, es ...task.Entry) task.Head {
	tb.Helper()
	c := step(tb, h, es...)
	if err := tasks.Append(tb.Context(), c); err != nil {
		tb.Fatalf("Append: %v", err)
	}
	return c.Next
}
