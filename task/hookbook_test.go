package task

import (
	"fmt"
	"testing"
)

// TestHookBookForgets: what is settled or gone must not be looked at again, and
// takes no room.
func TestHookBookForgets(t *testing.T) {
	t.Parallel()
	var b hookBook
	for key := range Key(100) {
		for i := range 3 {
			b.put(&Hook{Task: key + 1, ID: fmt.Sprint(i)}, "same")
		}
	}
	looks := func(o *order) int {
		n := 0
		b.walk(o, HookRef{}, func(*bookedHook) bool { n++; return true })
		return n
	}
	for key := range Key(99) {
		for i := range 3 {
			b.advance(&HookStep{HookRef: HookRef{key + 1, fmt.Sprint(i)}, Settled: true})
		}
	}
	b.advance(&HookStep{HookRef: HookRef{7, "1"}, Lost: &DeadLetter{First: 1}})
	if got := looks(&b.unsettled); got != 3 {
		t.Errorf("looks at %d hooks for those that are not settled, want 3", got)
	}
	if got := looks(&b.dead); got != 3 {
		t.Errorf("looks at %d hooks for those with dead letters, want 3", got)
	}
	if got := looks(b.with("same")); got != 300 {
		t.Errorf("looks at %d hooks for an id, want 300", got)
	}
	for key := range Key(100) {
		b.drop(HookRef{key + 1, "0"})
		b.forget(key + 1)
		b.forget(key + 1)
	}
	if len(b.tasks) != 0 || len(b.ids) != 0 || b.all.n != 0 || b.unsettled.n != 0 || b.dead.n != 0 {
		t.Errorf("something is left: %+v", b)
	}
}
