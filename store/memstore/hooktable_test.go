package memstore

import (
	"fmt"
	"testing"

	"github.com/parley-a2a/parley/task"
)

// TestHookTableForgets: settled or deleted hooks must not be visited again, and need no memory.
func TestHookTableForgets(t *testing.T) {
	t.Parallel()
	var b hookTable
	for key := range task.Key(100) {
		for i := range 3 {
			b.put(&task.Hook{Task: key + 1, ID: fmt.Sprint(i)}, "same")
		}
	}
	looks := func(o *sortedSet) int {
		n := 0
		b.walk(o, task.HookRef{}, func(*hookRow) bool { n++; return true })
		return n
	}
	for key := range task.Key(99) {
		for i := range 3 {
			b.advance(&task.HookStep{HookRef: task.HookRef{Task: key + 1, ID: fmt.Sprint(i)}, Settled: true})
		}
	}
	b.advance(&task.HookStep{HookRef: task.HookRef{Task: 7, ID: "1"}, Lost: &task.DeadLetter{First: 1}})
	if got := looks(&b.unsettled); got != 3 {
		t.Errorf("looks at %d hooks for those that are not settled, want 3", got)
	}
	if got := looks(&b.dead); got != 3 {
		t.Errorf("looks at %d hooks for those with dead letters, want 3", got)
	}
	if got := looks(b.tasksWithID("same")); got != 300 {
		t.Errorf("looks at %d hooks for an id, want 300", got)
	}
	for key := range task.Key(100) {
		b.drop(task.HookRef{Task: key + 1, ID: "0"})
		b.forget(key + 1)
		b.forget(key + 1)
	}
	if len(b.tasks) != 0 || len(b.ids) != 0 || b.all.n != 0 || b.unsettled.n != 0 || b.dead.n != 0 {
		t.Errorf("the table is not empty: %+v", b)
	}
}
