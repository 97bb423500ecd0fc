//go:build !race

package sqlitestore

import (
	"fmt"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/task"
)

// allocs is the number of objects that an operation allocates. The test
// fails above 1.5 times that number. The race detector also allocates, so it is not built with it.
var allocs = map[string]float64{
	"create":       0,
	"finish":       0,
	"head":         3,
	"read":         2,
	"list two":     6,
	"list context": 21,
}

// TestAllocations does not run in parallel with other tests, because it counts for the whole
// process.
func TestAllocations(t *testing.T) {
	const runs = 100
	tasks := newTest(t).Tasks()
	at := task.MillisOf(time.Date(2026, 3, 12, 9, 5, 0, 0, time.UTC))
	// AllocsPerRun makes one additional call, to warm up.
	var creates, finishes []*task.Change
	for i := range runs + 1 {
		creates = append(creates, step(t, newHead("anna", fmt.Sprintf("task-%06d", i)), created(at)))
	}
	ended := put(t, tasks, newHead("eve", "ended"), created(at), status(task.Completed, at))
	put(t, tasks, newHead("eve", "other"), created(at))
	next := func(changes *[]*task.Change) error {
		c := (*changes)[0]
		*changes = (*changes)[1:]
		return tasks.Append(t.Context(), c)
	}
	all := creates
	check := func(name string, f func() error) {
		t.Helper()
		want, ok := allocs[name]
		got := testing.AllocsPerRun(runs, func() {
			if err := f(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		})
		if !ok || got > 1.5*want { // an alarm for mistakes, not a bar
			t.Errorf("%s allocates %v objects; it was %v", name, got, want)
		}
	}
	check("create", func() error { return next(&creates) })
	for _, c := range all {
		finishes = append(finishes, step(t, c.Next, status(task.Working, at), task.Entry{
			Kind: task.Artifact, ArtifactID: "a", At: at, Body: benchArtifact,
		}, status(task.Completed, at)))
	}
	check("finish", func() error { return next(&finishes) })
	check("head", func() error {
		_, err := tasks.Head(t.Context(), ended.Owner, ended.ID)
		return err
	})
	check("read", func() error {
		_, err := tasks.Read(t.Context(), ended.Key, 0)
		return err
	})
	check("list two", func() error {
		_, err := tasks.List(t.Context(), &task.Query{Owner: "eve", Limit: 50})
		return err
	})
	check("list context", func() error {
		_, err := tasks.List(t.Context(), &task.Query{Owner: "eve", ContextID: ended.ContextID, Limit: 50})
		return err
	})
}
