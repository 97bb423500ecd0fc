package tasktest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-a2a/parley/internal/task"
)

// storeTest is a test of the suite.
type storeTest struct {
	name string
	test func(t *testing.T, s task.Store)
}

var logTests = []storeTest{
	{"Create", testCreate},
	{"CreateTwice", testCreateTwice},
	{"Keep", testKeep},
	{"Conflict", testConflict},
	{"Mistakes", testMistakes},
	{"Row", testRow},
	{"Scope", testScope},
	{"Pages", testPages},
	{"PageBytes", testPageBytes},
	{"ReadNothing", testReadNothing},
	{"Excerpts", testExcerpts},
	{"ListOrder", testListOrder},
	{"ListMoves", testListMoves},
	{"ListCursor", testListCursor},
	{"ListFilters", testListFilters},
	{"ListAllOwners", testListAllOwners},
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
	{"Probe", testProbe},
}

// Test runs the suite. It calls open for each of its tests; the store must be empty, and open
// must register its closing with t.Cleanup.
func Test(t *testing.T, open func(t *testing.T) task.Store) {
	t.Helper()
	for _, tt := range slices.Concat(logTests, hookTests, requestTests, aliasTests, sidecarTests, journalTests, finderTests, timelineTests, textTests) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.test(t, open(t))
		})
	}
}

// diff compares stored values; nil and empty slices are the same to a store.
func diff(want, got any) string { return cmp.Diff(want, got, cmpopts.EquateEmpty()) }

// wantHead fails the test unless the stored head equals h.
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
