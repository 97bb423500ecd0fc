//go:build !race

package task_test

import (
	"testing"

	"github.com/parley-a2a/parley/internal/task"
)

// allocs is the number of objects that an operation allocates. The test
// fails above 1.5 times that number. The race detector also allocates, so it is not built with it.
var allocs = map[string]float64{
	"apply":             0,
	"frames":            0,
	"frames to keep":    4,
	"encode entries":    0,
	"decode entries":    1,
	"fold small task":   5,
	"encode small task": 2,
}

// TestAllocations does not run in parallel with other tests, because it counts for the whole
// process.
func TestAllocations(t *testing.T) {
	es := []task.Entry{
		created(hello), status(task.Working, ""), chunk("a", `{"artifactId":"a","parts":[{"text":"word "}]}`),
		status(task.Completed, done),
	}
	working, _, _ := buildTask(t, es[:2]...)
	h, fold, es := buildTask(t, es...)
	buf := make([]byte, 0, 4096)
	stored := task.AppendEntries(nil, es)
	for name, f := range map[string]func() error{
		"apply": func() error {
			_, _, err := task.Apply(working, es[2])
			return err
		},
		"frames": func() error {
			for i := range es {
				buf = task.AppendFrame(buf[:0], &h, &es[i])
			}
			return nil
		},
		"frames to keep": func() error { // one object each
			for i := range es {
				_ = task.AppendFrame(nil, &h, &es[i])
			}
			return nil
		},
		"encode entries": func() error {
			buf = task.AppendEntries(buf[:0], es)
			return nil
		},
		"decode entries": func() error {
			_, err := task.DecodeEntries(stored)
			return err
		},
		"fold small task": func() error {
			var f task.Fold
			for i := range es {
				if err := f.Add(&es[i]); err != nil {
					return err
				}
			}
			return nil
		},
		"encode small task": func() error {
			buf = fold.AppendTask(buf[:0], &h, task.TaskOptions{Artifacts: true})
			return nil
		},
	} {
		want, ok := allocs[name]
		got := testing.AllocsPerRun(100, func() {
			if err := f(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		})
		if !ok || got > 1.5*want { // an alarm for mistakes, not a bar
			t.Errorf("%s allocates %v objects; it was %v", name, got, want)
		}
	}
}
