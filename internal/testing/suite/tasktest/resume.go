package tasktest

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/task"
)

var checkpointTests = []storeTest{
	{"CheckpointKeep", testCheckpointKeep},
	{"CheckpointConflict", testCheckpointConflict},
	{"CheckpointSweep", testCheckpointSweep},
}

// saving sets the checkpoint of a change.
func saving(c *task.Change, blob string) *task.Change {
	c.Checkpoint = []byte(blob)
	return c
}

// save stores a change with a checkpoint, whose bytes are reused afterwards.
func save(t *testing.T, s task.Log, c *task.Change) task.Head {
	t.Helper()
	if err := s.Append(t.Context(), c); err != nil {
		t.Fatalf("Append with checkpoint %q = %v", c.Checkpoint, err)
	}
	clear(c.Checkpoint)
	return c.Next
}

func wantCheckpoint(t *testing.T, s task.Checkpoints, key task.Key, want string) {
	t.Helper()
	got, err := s.Checkpoint(t.Context(), key)
	if err != nil || string(got) != want {
		t.Errorf("Checkpoint(%d) = %q, %v, want %q", key, got, err, want)
	}
	clear(got)
}

// testCheckpointKeep stores checkpoints with a new task, with entries and alone.
func testCheckpointKeep(t *testing.T, s task.Store) {
	h := save(t, s, saving(Step(t, NewHead("anna", "t1"), Created(At(0), "hello")), "one"))
	wantCheckpoint(t, s, h.Key, "one")
	wantCheckpoint(t, s, h.Key, "one")
	h = Append(t, s, h, Status(At(1), task.Working, ""))
	wantCheckpoint(t, s, h.Key, "one")
	h = save(t, s, saving(Step(t, h, Chunk(At(2), "a", "word")), "two\x00\xff"))
	wantCheckpoint(t, s, h.Key, "two\x00\xff")
	h = save(t, s, saving(Step(t, h), "three"))
	wantCheckpoint(t, s, h.Key, "three")
	other := Append(t, s, NewHead("anna", "t2"), Created(At(0), "hello"))
	wantCheckpoint(t, s, other.Key, "")
	h = Append(t, s, h, Status(At(3), task.Completed, ""))
	wantCheckpoint(t, s, h.Key, "three")
	large := bytes.Repeat([]byte("x"), 64<<10)
	other = save(t, s, saving(Step(t, other), string(large)))
	wantCheckpoint(t, s, other.Key, string(large))
	if got := len(Log(t, s, h.Key)); got != 4 {
		t.Errorf("the log has %d entries, want 4", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Checkpoint(ctx, h.Key); !errors.Is(err, context.Canceled) {
		t.Errorf("Checkpoint = %v, want the cause", err)
	}
}

// testCheckpointConflict: a change that is not stored stores no checkpoint.
func testCheckpointConflict(t *testing.T, s task.Store) {
	old := save(t, s, saving(Step(t, NewHead("anna", "t1"), Created(At(0), "hello")), "one"))
	now := Append(t, s, old, Status(At(1), task.Working, ""))
	if err := s.Append(t.Context(), saving(Step(t, old, Said(At(2), "more")), "two")); !errors.Is(err, task.ErrConflict) {
		t.Errorf("Append from an old head = %v, want ErrConflict", err)
	}
	wantCheckpoint(t, s, now.Key, "one")
}

// testCheckpointSweep: checkpoints are deleted with their tasks.
func testCheckpointSweep(t *testing.T, s task.Store) {
	h := save(t, s, saving(Step(t, NewHead("anna", "t1"), Created(At(0), "hello")), "one"))
	Append(t, s, h, Status(At(1), task.Completed, ""))
	other := save(t, s, saving(Step(t, NewHead("anna", "t2"), Created(At(0), "hello")), "two"))
	if n, err := s.Sweep(t.Context(), At(1000), 10); n != 1 || err != nil {
		t.Fatalf("Sweep = %d, %v, want 1", n, err)
	}
	wantCheckpoint(t, s, h.Key, "")
	wantCheckpoint(t, s, other.Key, "two")
}

var lineageTests = []storeTest{
	{"LineageKeep", testLineageKeep},
	{"LineageConflict", testLineageConflict},
	{"LineageSweep", testLineageSweep},
}

// born stores a task that was created on behalf of another.
func born(t *testing.T, s task.Log, id a2a.TaskID, l task.Lineage) task.Head {
	t.Helper()
	c := Step(t, NewHead("anna", id), Created(At(0), "hello"))
	c.Lineage = &l
	if err := s.Append(t.Context(), c); err != nil {
		t.Fatalf("Append with a lineage = %v", err)
	}
	*c.Lineage = task.Lineage{} // the caller may reuse it
	return c.Next
}

func wantLineage(t *testing.T, s task.Lineages, key task.Key, want task.Lineage) {
	t.Helper()
	if got, err := s.Lineage(t.Context(), key); err != nil || got != want {
		t.Errorf("Lineage(%d) = %+v, %v, want %+v", key, got, err, want)
	}
}

func wantChildren(t *testing.T, s task.Lineages, parent task.Key, want ...task.Head) {
	t.Helper()
	var got []task.Head
	for after := task.Key(0); ; after = got[len(got)-1].Key {
		page, err := s.Children(t.Context(), parent, after, 2)
		if err != nil {
			t.Fatalf("Children(%d) = %v", parent, err)
		}
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
	}
	if d := diff(want, got); d != "" {
		t.Errorf("Children(%d) mismatch (-want +got):\n%s", parent, d)
	}
}

func testLineageKeep(t *testing.T, s task.Store) {
	root := Append(t, s, NewHead("anna", "root"), Created(At(0), "hello"))
	var children []task.Head
	for _, id := range []a2a.TaskID{"c1", "c2", "c3"} {
		children = append(children, born(t, s, id, task.Lineage{Parent: root.Key, Root: root.Key, Hops: 1}))
	}
	deep := task.Lineage{Parent: children[1].Key, Root: root.Key, Hops: 2}
	grandchild := born(t, s, "g", deep)
	children[0] = Append(t, s, children[0], Status(At(1), task.Completed, ""))
	wantLineage(t, s, root.Key, task.Lineage{})
	wantLineage(t, s, children[2].Key, task.Lineage{Parent: root.Key, Root: root.Key, Hops: 1})
	wantLineage(t, s, grandchild.Key, deep)
	wantChildren(t, s, root.Key, children...)
	wantChildren(t, s, children[1].Key, grandchild)
	wantChildren(t, s, grandchild.Key)
}

// testLineageConflict: a change that is not stored adds no lineage, and an existing task cannot
// get one later.
func testLineageConflict(t *testing.T, s task.Store) {
	root := Append(t, s, NewHead("anna", "root"), Created(At(0), "hello"))
	child := Append(t, s, NewHead("anna", "c1"), Created(At(0), "hello"))
	line := task.Lineage{Parent: root.Key, Root: root.Key, Hops: 1}
	c := Step(t, NewHead("anna", "c1"), Created(At(0), "hello"))
	c.Lineage = &line
	if err := s.Append(t.Context(), c); !errors.Is(err, task.ErrExists) {
		t.Errorf("Append of a task that exists = %v, want ErrExists", err)
	}
	c = Step(t, child, Status(At(1), task.Working, ""))
	c.Lineage = &line
	if err := s.Append(t.Context(), c); err == nil {
		t.Error("Append gives a task a parent that it did not have")
	}
	c = Step(t, NewHead("anna", "c2"), Created(At(0), "hello"))
	c.Lineage = &task.Lineage{Hops: 1}
	if err := s.Append(t.Context(), c); err == nil {
		t.Error("Append stores a lineage without a parent")
	}
	wantChildren(t, s, root.Key)
	wantLineage(t, s, child.Key, task.Lineage{})
}

// testLineageSweep: lineages are deleted with their tasks, the children.
func testLineageSweep(t *testing.T, s task.Store) {
	root := Append(t, s, NewHead("anna", "root"), Created(At(0), "hello"))
	line := task.Lineage{Parent: root.Key, Root: root.Key, Hops: 1}
	ended, open := born(t, s, "c1", line), born(t, s, "c2", line)
	Append(t, s, ended, Status(At(1), task.Completed, ""))
	if n, err := s.Sweep(t.Context(), At(1000), 10); n != 1 || err != nil {
		t.Fatalf("Sweep = %d, %v, want 1", n, err)
	}
	wantLineage(t, s, ended.Key, task.Lineage{})
	wantChildren(t, s, root.Key, open)
	Append(t, s, root, Status(At(1), task.Completed, ""))
	if n, err := s.Sweep(t.Context(), At(1000), 10); n != 1 || err != nil {
		t.Fatalf("Sweep = %d, %v, want 1", n, err)
	}
	wantLineage(t, s, open.Key, line)
}
