package tasktest

import (
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/task"
)

// finderTests are the tests of finding tasks of all owners.
var finderTests = []storeTest{
	{"Find", testFind},
	{"FindByPrefix", testFindByPrefix},
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

// The ids of testFindByPrefix, in the order of their list.
var prefixed = []a2a.TaskID{
	"0193abcd-0000-7000-8000-000000000001", "0193abcd-0000-7000-8000-000000000002", "0193abce-0000-7000-8000-000000000001",
	"0193ABCD-0000-7000-8000-000000000001", "0193abcd", "0193abcd%", "0193abcd-", "0193abcd-x",
}

// testFindByPrefix lists tasks by the beginning of their ids: UUIDs and other texts, of one owner
// and of all.
func testFindByPrefix(t *testing.T, s task.Store) {
	for i := range prefixed {
		Append(t, s, NewHead("anna", prefixed[len(prefixed)-1-i]), Created(At(0), "hello"))
	}
	for _, id := range []a2a.TaskID{"0193abcc-ffff-7000-8000-000000000001", "0193abcf-0000-7000-8000-000000000001", "0193abcc", "1"} {
		Append(t, s, NewHead("anna", id), Created(At(0), "hello"))
	}
	bert := Append(t, s, NewHead("bert", prefixed[1]), Created(At(0), "hello"))
	Append(t, s, bert, Status(At(1), task.Completed, "done"))
	for prefix, want := range map[string][]a2a.TaskID{
		"0193abcd": {prefixed[0], prefixed[1], prefixed[4], prefixed[5], prefixed[6], prefixed[7]}, "0193abcd-": {prefixed[0], prefixed[1], prefixed[6], prefixed[7]},
		"0193abcd-0000-7000-8000-00000000000": prefixed[:2], string(prefixed[1]): prefixed[1:2],
		"0193abc": {
			"0193abcc-ffff-7000-8000-000000000001", prefixed[0], prefixed[1], prefixed[2], "0193abcf-0000-7000-8000-000000000001",
			"0193abcc", prefixed[4], prefixed[5], prefixed[6], prefixed[7],
		},
		"0193A": prefixed[3:4], "0193abcd-0000-7000-8000-0000000000010": nil, "none": nil, "%": nil, "0193abcd%": prefixed[5:6],
	} {
		wantIDs(t, s, task.Query{Owner: "anna", IDPrefix: prefix, Limit: 100}, want)
		for limit := 1; limit < 4; limit++ {
			wantIDs(t, s, task.Query{Owner: "anna", IDPrefix: prefix, Limit: limit}, want)
		}
	}
	for limit := 1; limit < 4; limit++ {
		wantIDs(t, s, task.Query{AllOwners: true, IDPrefix: "0193abcd-0", Limit: limit}, []a2a.TaskID{prefixed[0], prefixed[1], prefixed[1]})
	}
	wantIDs(t, s, task.Query{Owner: "bert", IDPrefix: "0193", Limit: 2}, prefixed[1:2])
	longer := prefixed[1] + "x"
	Append(t, s, NewHead("dora", longer), Created(At(0), "hello"))
	Append(t, s, NewHead("dora", prefixed[1]), Created(At(0), "hello"))
	wantIDs(t, s, task.Query{Owner: "dora", IDPrefix: string(prefixed[1]), Limit: 1}, []a2a.TaskID{prefixed[1], longer})
	wantIDs(t, s, task.Query{Owner: "carl", IDPrefix: "0193", Limit: 2}, nil)
	wantIDs(t, s, task.Query{Owner: "bert", IDPrefix: "0193", State: task.Completed, Limit: 2}, prefixed[1:2])
	wantIDs(t, s, task.Query{AllOwners: true, IDPrefix: "0193", State: task.Completed, Limit: 2}, prefixed[1:2])
	wantIDs(t, s, task.Query{AllOwners: true, IDPrefix: "0193", Agent: "none", Limit: 2}, nil)
	wantRefused(t, s)
}

// wantRefused checks the errors of lists by prefix.
func wantRefused(t *testing.T, s task.Store) {
	t.Helper()
	for _, q := range []task.Query{{Owner: "anna", IDPrefix: "0", ContextID: "c", Limit: 1}, {Owner: "anna", IDPrefix: "0", Since: 1, Limit: 1}} {
		if _, err := s.List(t.Context(), &q); err == nil {
			t.Errorf("List(%+v) succeeds", q)
		}
	}
	q := task.Query{Owner: "anna", IDPrefix: "0", Limit: 1, After: task.Cursor{Key: 1 << 40}}
	if _, err := s.List(t.Context(), &q); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("a list after a deleted task = %v, want %v", err, task.ErrNotFound)
	}
}

// wantIDs checks all pages of a list.
func wantIDs(t *testing.T, s task.Store, q task.Query, want []a2a.TaskID) {
	t.Helper()
	if d := diff(want, ids(listAll(t, s, q))); d != "" {
		t.Errorf("List(%+v) mismatch (-want +got):\n%s", q, d)
	}
}
