package memstore_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/testing/suite/tasktest"
	"github.com/parley-a2a/parley/store/memstore"
	"github.com/parley-a2a/parley/task"
)

func TestStore(t *testing.T) {
	t.Parallel()
	tasktest.Test(t, func(*testing.T) task.Store { return new(memstore.Store) })
}

// TestHashCollisions runs the suite with names that have the same hash.
func TestHashCollisions(t *testing.T) {
	t.Parallel()
	tasktest.Test(t, func(*testing.T) task.Store { return memstore.NewColliding() })
}

// TestReadsEnded reads a long task from every version, while it is open and after it has ended:
// the result must be the same.
func TestReadsEnded(t *testing.T) {
	t.Parallel()
	const n = 700
	var s memstore.Store
	h := tasktest.Append(t, &s, tasktest.NewHead("anna", "t"), tasktest.Created(tasktest.At(0), "hello"))
	for i := range n {
		h = tasktest.Append(t, &s, h, tasktest.Chunk(tasktest.At(1), "a", fmt.Sprint("word ", i)))
	}
	open := tasktest.Log(t, &s, h.Key)
	end := tasktest.Status(tasktest.At(2), task.Completed, "done")
	h = tasktest.Append(t, &s, h, end)
	for after := range len(open) {
		got, err := s.Read(t.Context(), h.Key, int64(after))
		if err != nil {
			t.Fatalf("Read(%d) = %v", after, err)
		}
		if want := min(256, n+2-after); len(got) != want {
			t.Fatalf("Read(%d) has %d entries, want %d", after, len(got), want)
		}
		want := open[after:min(len(open), after+256)]
		if !reflect.DeepEqual(want, got[:len(want)]) { // far quicker than cmp
			t.Fatalf("Read(%d) of the task that ended mismatch (-want +got):\n%s", after, cmp.Diff(want, got[:len(want)]))
		}
	}
}
