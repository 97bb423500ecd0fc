package tasktest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/task"
)

var sidecarTests = []storeTest{
	{"SidecarKeep", testSidecarKeep},
	{"SidecarDrop", testSidecarDrop},
	{"SidecarPages", testSidecarPages},
	{"SidecarConflict", testSidecarConflict},
	{"SidecarSweep", testSidecarSweep},
	{"Lineage", testLineage},
	{"LineageConflict", testLineageConflict},
	{"LineageSweep", testLineageSweep},
}

// dataKinds are the kinds that a change may store at any time.
var dataKinds = []task.SidecarKind{task.SidecarCheckpoint, task.SidecarRecordRequest}

// saving adds the same data to a change as a sidecar of each of the kinds.
func saving(c *task.Change, data string, kinds ...task.SidecarKind) *task.Change {
	for _, kind := range kinds {
		c.Sidecars[kind] = []byte(data)
	}
	return c
}

// save stores a change with sidecars, whose bytes are reused afterwards.
func save(t *testing.T, s task.Log, c *task.Change) task.Head {
	t.Helper()
	if err := s.Append(t.Context(), c); err != nil {
		t.Fatalf("Append with sidecars %q = %v", c.Sidecars, err)
	}
	for _, data := range c.Sidecars {
		clear(data)
	}
	return c.Next
}

// hello returns a change that creates a task with the data as its sidecars.
func hello(t *testing.T, id a2a.TaskID, data string, kinds ...task.SidecarKind) *task.Change {
	t.Helper()
	return saving(Step(t, NewHead("anna", id), Created(At(0), "hello")), data, kinds...)
}

// wantSidecars fails the test unless a task has the data as sidecars of the kinds; none, if want
// is empty.
func wantSidecars(t *testing.T, s task.Sidecars, key task.Key, want string, kinds ...task.SidecarKind) {
	t.Helper()
	for _, kind := range kinds {
		got, err := s.Sidecar(t.Context(), key, kind)
		if err != nil || string(got) != want || want == "" && got != nil {
			t.Errorf("Sidecar(%d, kind %d) = %q, %v, want %q", key, kind, got, err, want)
		}
		clear(got)
	}
}

// sidecars returns all sidecars that q selects, in pages of two.
func sidecars(t *testing.T, s task.Sidecars, q task.SidecarQuery) (all []task.Sidecar) {
	t.Helper()
	for q.Limit = 2; ; q.After = all[len(all)-1].Head.Key {
		page, err := s.Sidecars(t.Context(), &q)
		if err != nil || len(page) > q.Limit {
			t.Fatalf("Sidecars(%+v) = %d sidecars, %v", q, len(page), err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
	}
}

// testSidecarKeep stores sidecars of each kind with a new task, with entries and alone.
func testSidecarKeep(t *testing.T, s task.Store) {
	h := save(t, s, hello(t, "t1", "one", dataKinds...))
	wantSidecars(t, s, h.Key, "one", dataKinds...)
	wantSidecars(t, s, h.Key, "one", dataKinds...)
	h = Append(t, s, h, Status(At(1), task.Working, ""))
	wantSidecars(t, s, h.Key, "one", dataKinds...)
	h = save(t, s, saving(Step(t, h, Chunk(At(2), "a", "word")), "two\x00\xff", dataKinds...))
	wantSidecars(t, s, h.Key, "two\x00\xff", dataKinds...)
	h = save(t, s, saving(Step(t, h), "three", task.SidecarCheckpoint))
	wantSidecars(t, s, h.Key, "three", task.SidecarCheckpoint)
	wantSidecars(t, s, h.Key, "two\x00\xff", task.SidecarRecordRequest)
	other := Append(t, s, NewHead("anna", "t2"), Created(At(0), "hello"))
	wantSidecars(t, s, other.Key, "", append(dataKinds, task.SidecarLineage)...)
	h = Append(t, s, h, Status(At(3), task.Completed, ""))
	wantSidecars(t, s, h.Key, "three", task.SidecarCheckpoint)
	large := bytes.Repeat([]byte("x"), 64<<10)
	other = save(t, s, saving(Step(t, other), string(large), dataKinds...))
	wantSidecars(t, s, other.Key, string(large), dataKinds...)
	if got := len(Log(t, s, h.Key)); got != 4 {
		t.Errorf("the log has %d entries, want 4", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Sidecar(ctx, h.Key, task.SidecarCheckpoint); !errors.Is(err, context.Canceled) {
		t.Errorf("Sidecar = %v, want the cause", err)
	}
}

// testSidecarDrop: a sidecar can be deleted repeatedly, also that of an ended task, and stored
// again. The other kinds and the other tasks keep theirs.
func testSidecarDrop(t *testing.T, s task.Store) {
	other := save(t, s, hello(t, "t1", "other", dataKinds...))
	open := save(t, s, hello(t, "t2", "one", dataKinds...))
	ended := save(t, s, saving(Step(t, NewHead("anna", "t3"), Created(At(0), "hello"), Status(At(1), task.Completed, "")), "one", dataKinds...))
	for i, kind := range dataKinds {
		for _, key := range []task.Key{open.Key, open.Key, ended.Key} {
			if err := s.DropSidecar(t.Context(), key, kind); err != nil {
				t.Fatalf("DropSidecar(%d, kind %d) = %v", key, kind, err)
			}
			wantSidecars(t, s, key, "", dataKinds[:i+1]...)
			wantSidecars(t, s, open.Key, "one", dataKinds[i+1:]...)
		}
	}
	wantSidecars(t, s, other.Key, "other", dataKinds...)
	wantSidecars(t, s, save(t, s, saving(Step(t, open), "again", dataKinds...)).Key, "again", dataKinds...)
}

// testSidecarPages lists the sidecars of each kind, of the tasks of every owner, page by page.
func testSidecarPages(t *testing.T, s task.Store) {
	want := make([][]task.Sidecar, task.SidecarKinds)
	for i := range 7 {
		id := a2a.TaskID(fmt.Sprint("t", i))
		c := Step(t, NewHead([]task.Owner{"anna", "bert"}[i%2], id), Created(At(0), "hello"))
		var kinds []task.SidecarKind
		for _, kind := range dataKinds {
			if (i+int(kind))%3 != 0 {
				kinds = append(kinds, kind)
			}
		}
		h := save(t, s, saving(c, string(id), kinds...))
		if i == 4 {
			h = Append(t, s, h, Status(At(1), task.Completed, ""))
		}
		for _, kind := range kinds {
			want[kind] = append(want[kind], task.Sidecar{Head: h, Data: []byte(id)})
		}
	}
	for kind := range task.SidecarKinds {
		slices.SortFunc(want[kind], func(a, b task.Sidecar) int { return cmp.Compare(a.Head.Key, b.Head.Key) })
		if d := diff(want[kind], sidecars(t, s, task.SidecarQuery{Kind: kind})); d != "" {
			t.Errorf("sidecars of kind %d (-want +got):\n%s", kind, d)
		}
	}
	if _, err := s.Sidecars(t.Context(), &task.SidecarQuery{}); err == nil {
		t.Error("Sidecars without a limit succeeds")
	}
}

// testSidecarConflict: a change that is not stored stores no sidecars.
func testSidecarConflict(t *testing.T, s task.Store) {
	old := save(t, s, hello(t, "t1", "one", task.SidecarCheckpoint))
	Append(t, s, old, Status(At(1), task.Working, ""))
	if err := s.Append(t.Context(), saving(Step(t, old, FollowUp(At(2), "more")), "lost", dataKinds...)); !errors.Is(err, task.ErrConflict) {
		t.Errorf("Append from an old head = %v, want ErrConflict", err)
	}
	wantSidecars(t, s, old.Key, "one", task.SidecarCheckpoint)
	wantSidecars(t, s, old.Key, "", task.SidecarRecordRequest)
}

// testSidecarSweep: sidecars are deleted with their tasks.
func testSidecarSweep(t *testing.T, s task.Store) {
	h := save(t, s, hello(t, "t1", "one", dataKinds...))
	Append(t, s, h, Status(At(1), task.Completed, ""))
	other := save(t, s, hello(t, "t2", "two", dataKinds...))
	wantSwept(t, s, 1)
	wantSidecars(t, s, h.Key, "", dataKinds...)
	wantSidecars(t, s, other.Key, "two", dataKinds...)
	for _, kind := range dataKinds {
		if all := sidecars(t, s, task.SidecarQuery{Kind: kind}); len(all) != 1 {
			t.Errorf("%d tasks have a sidecar of kind %d, want 1", len(all), kind)
		}
	}
}

func wantSwept(t *testing.T, s task.Sweeper, want int) {
	t.Helper()
	if n, err := s.Sweep(t.Context(), At(1000), 10); n != want || err != nil {
		t.Fatalf("Sweep = %d, %v, want %d", n, err, want)
	}
}

// begat returns a change that creates a task on behalf of another.
func begat(t *testing.T, id a2a.TaskID, l task.Lineage) *task.Change {
	t.Helper()
	return hello(t, id, string(l.Encode()), task.SidecarLineage)
}

func wantLineage(t *testing.T, s task.Sidecars, key task.Key, want task.Lineage) {
	t.Helper()
	if got, err := task.LineageOf(t.Context(), s, key); err != nil || got != want {
		t.Errorf("LineageOf(%d) = %+v, %v, want %+v", key, got, err, want)
	}
}

func wantChildren(t *testing.T, s task.Sidecars, parent task.Key, want ...task.Head) {
	t.Helper()
	var got []task.Head
	for _, one := range sidecars(t, s, task.SidecarQuery{Kind: task.SidecarLineage, Parent: parent}) {
		got = append(got, one.Head)
	}
	if d := diff(want, got); d != "" {
		t.Errorf("children of task %d mismatch (-want +got):\n%s", parent, d)
	}
	page, err := task.Children(t.Context(), s, parent, 0, 2)
	if d := diff(want[:min(2, len(want))], page); d != "" || err != nil {
		t.Errorf("Children(%d): %v, mismatch (-want +got):\n%s", parent, err, d)
	}
}

func testLineage(t *testing.T, s task.Store) {
	root := Append(t, s, NewHead("anna", "root"), Created(At(0), "hello"))
	first := task.Lineage{Parent: root.Key, Root: root.Key, Hops: 1}
	var children []task.Head
	for _, id := range []a2a.TaskID{"c1", "c2", "c3"} {
		children = append(children, save(t, s, begat(t, id, first)))
	}
	deep := task.Lineage{Parent: children[1].Key, Root: root.Key, Hops: 2}
	grandchild := save(t, s, begat(t, "g", deep))
	children[0] = Append(t, s, children[0], Status(At(1), task.Completed, ""))
	wantLineage(t, s, root.Key, task.Lineage{})
	wantLineage(t, s, children[2].Key, first)
	wantLineage(t, s, grandchild.Key, deep)
	wantChildren(t, s, root.Key, children...)
	wantChildren(t, s, children[1].Key, grandchild)
	wantChildren(t, s, grandchild.Key)
	if got, want := len(sidecars(t, s, task.SidecarQuery{Kind: task.SidecarLineage})), len(children)+1; got != want {
		t.Errorf("%d tasks have a lineage, want %d", got, want)
	}
}

// testLineageConflict: a change that is not stored adds no lineage, and an existing task cannot
// get one later.
func testLineageConflict(t *testing.T, s task.Store) {
	root := Append(t, s, NewHead("anna", "root"), Created(At(0), "hello"))
	child := Append(t, s, NewHead("anna", "c1"), Created(At(0), "hello"))
	lineage := task.Lineage{Parent: root.Key, Root: root.Key, Hops: 1}
	if err := s.Append(t.Context(), begat(t, "c1", lineage)); !errors.Is(err, task.ErrExists) {
		t.Errorf("Append of a task that exists = %v, want ErrExists", err)
	}
	c := saving(Step(t, child, Status(At(1), task.Working, "")), string(lineage.Encode()), task.SidecarLineage)
	if err := s.Append(t.Context(), c); err == nil {
		t.Error("Append gives a task a parent that it did not have")
	}
	if err := s.Append(t.Context(), begat(t, "c2", task.Lineage{Hops: 1})); err == nil {
		t.Error("Append stores a lineage without a parent")
	}
	if err := s.Append(t.Context(), hello(t, "c2", "other data", task.SidecarLineage)); err == nil {
		t.Error("Append stores a lineage that is none")
	}
	wantChildren(t, s, root.Key)
	wantLineage(t, s, child.Key, task.Lineage{})
}

// testLineageSweep: lineages are deleted with their tasks, the children.
func testLineageSweep(t *testing.T, s task.Store) {
	root := Append(t, s, NewHead("anna", "root"), Created(At(0), "hello"))
	lineage := task.Lineage{Parent: root.Key, Root: root.Key, Hops: 1}
	ended, open := save(t, s, begat(t, "c1", lineage)), save(t, s, begat(t, "c2", lineage))
	Append(t, s, ended, Status(At(1), task.Completed, ""))
	wantSwept(t, s, 1)
	wantLineage(t, s, ended.Key, task.Lineage{})
	wantChildren(t, s, root.Key, open)
	Append(t, s, root, Status(At(1), task.Completed, ""))
	wantSwept(t, s, 1)
	wantLineage(t, s, open.Key, lineage)
}
