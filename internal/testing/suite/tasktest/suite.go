package tasktest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-a2a/parley/task"
)

// Test runs the suite. It calls open for each of its tests; the store must be empty
// and is closed with t.Cleanup. If the store implements task.Snapshots, or
// task.Hooks with task.HookWork and task.HookDesk, that is tested
// too; so are task.Requests, task.Aliases, task.Checkpoints, task.Journals, task.Lineages,
// task.Marks and task.Finder.
func Test(t *testing.T, open func(t *testing.T) task.Store) {
	t.Helper()
	for _, tt := range []struct {
		name string
		test func(t *testing.T, s task.Store)
	}{
		{"Create", testCreate},
		{"CreateTwice", testCreateTwice},
		{"Keep", testKeep},
		{"Conflict", testConflict},
		{"Row", testRow},
		{"Scope", testScope},
		{"Pages", testPages},
		{"PageBytes", testPageBytes},
		{"ReadNothing", testReadNothing},
		{"ListOrder", testListOrder},
		{"ListMoves", testListMoves},
		{"ListCursor", testListCursor},
		{"ListFilters", testListFilters},
		{"ListHidden", testListHidden},
		{"ListTotal", testListTotal},
		{"Interrupted", testInterrupted},
		{"Due", testDue},
		{"Stale", testStale},
		{"Sweep", testSweep},
		{"SweepAnswered", testSweepAnswered},
		{"SweepLimit", testSweepLimit},
		{"Snapshots", testSnapshots},
		{"Race", testRace},
		{"Parallel", testParallel},
		{"Cancellation", testCancellation},
		{"Model", testModel},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.test(t, open(t))
		})
	}
	runOptional(t, open, hookTests)
	runOptional(t, open, requestTests)
	runOptional(t, open, aliasTests)
	runOptional(t, open, checkpointTests)
	runOptional(t, open, journalTests)
	runOptional(t, open, lineageTests)
	runOptional(t, open, markTests)
	runOptional(t, open, finderTests)
}

// optional is a test of an ability S that not every store has.
type optional[S any] struct {
	name string
	test func(t *testing.T, s S)
}

func runOptional[S any](t *testing.T, open func(t *testing.T) task.Store, tests []optional[S]) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, ok := open(t).(S)
			if !ok {
				t.Log("the store does not have the ability")
				return
			}
			tt.test(t, s)
		})
	}
}

// diff compares stored values; nil and empty slices are the same to a store.
func diff(want, got any) string { return cmp.Diff(want, got, cmpopts.EquateEmpty()) }

// wantHead fails the test unless the store has h as it is.
func wantHead(t *testing.T, s task.Store, h task.Head) {
	t.Helper()
	got, err := s.Head(t.Context(), h.Owner, h.ID)
	if err != nil {
		t.Fatalf("Head(%s, %s) = %v", h.Owner, h.ID, err)
	}
	if d := diff(h, got); d != "" {
		t.Fatalf("Head(%s, %s) mismatch (-want +got):\n%s", h.Owner, h.ID, d)
	}
}
