package tasktest

import (
	"testing"

	"github.com/parley-a2a/parley/task"
)

// finderTests are the tests of finding tasks of all owners.
var finderTests = []storeTest{
	{"Find", testFind},
}

// testFind searches for an id that two owners have, for one that no owner has, and for one
// whose task was deleted.
func testFind(t *testing.T, s task.Store) {
	bert := Append(t, s, NewHead("bert", "t1"), Created(At(0), "hello"))
	anna := Append(t, s, NewHead("anna", "t1"), Created(At(0), "hello"))
	Append(t, s, NewHead("anna", "t2"), Created(At(0), "hello"))
	anna = Append(t, s, anna, Status(At(1), task.Completed, "done"))
	find := func(want ...task.Head) {
		t.Helper()
		got, err := s.Find(t.Context(), "t1")
		if d := diff(want, got); d != "" || err != nil {
			t.Errorf("Find: %v, mismatch (-want +got):\n%s", err, d)
		}
	}
	find(anna, bert)
	if _, err := s.Sweep(t.Context(), At(10), 10); err != nil {
		t.Fatal(err)
	}
	find(bert)
	if got, err := s.Find(t.Context(), "t3"); len(got) != 0 || err != nil {
		t.Errorf("Find(t3) = %+v, %v, want none", got, err)
	}
}
