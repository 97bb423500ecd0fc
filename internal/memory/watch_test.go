package memory_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/parley-a2a/parley/internal/memory"
)

// A slow watcher sees the last state of every note, even if there are more notes than fit in a
// list, before and during the Watch.
func TestWatchHasNoLimit(t *testing.T) {
	t.Parallel()
	const most = 3*memory.MaxList + 1
	n := &memory.Notes{Limits: memory.Limits{Entries: 2 * most}}
	for i := range most {
		set(t, n, memory.Set{Key: fmt.Sprintf("in/box/%04d", i), Value: "old"})
	}
	next, stop := iter.Pull2(n.Watch(t.Context(), "o", "in/"))
	defer stop()
	see := func(want string) {
		t.Helper()
		for i := range most {
			if e, err, _ := next(); e.Key != fmt.Sprintf("in/box/%04d", i) || e.Preview != want || err != nil {
				t.Fatalf("note %d is %s %q, %v, want it as %q", i, e.Key, e.Preview, err, want)
			}
		}
	}
	see("old")
	for i := range most {
		set(t, n, memory.Set{Key: fmt.Sprintf("in/box/%04d", i), Value: "new"})
	}
	see("new")
	set(t, n, memory.Set{Key: "in/box/last"})
	if e, err, _ := next(); e.Key != "in/box/last" || err != nil {
		t.Errorf("then comes %q, %v", e.Key, err)
	}
}

// A watcher gets ErrEnded after the last note when Run ends, and may watch again.
func TestWatchEndsWithRun(t *testing.T) {
	t.Parallel()
	n := new(memory.Notes)
	set(t, n, memory.Set{Key: "in/box/1"})
	for range 2 {
		next, stop := iter.Pull2(n.Watch(t.Context(), "o", "in/"))
		defer stop()
		if e, err, _ := next(); e.Key != "in/box/1" || err != nil {
			t.Fatalf("first comes %q, %v", e.Key, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		set(t, n, memory.Set{Key: "in/box/1", Value: "again"})
		cancel()
		n.Run(ctx)
		if e, err, _ := next(); e.Preview != "again" || err != nil {
			t.Errorf("then comes %+v, %v, want the note that was set last", e, err)
		}
		if _, err, _ := next(); !errors.Is(err, memory.ErrEnded) {
			t.Errorf("the last item is %v", err)
		}
		if _, _, ok := next(); ok {
			t.Error("something comes after the last item")
		}
	}
}
