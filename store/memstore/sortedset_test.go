package memstore

import (
	"fmt"
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/task"
)

// list returns the cursors of o, and fails the test if its blocks break their invariants.
func (o *sortedSet) list(t interface{ Fatalf(string, ...any) }) []task.Cursor {
	var all []task.Cursor
	for i, b := range o.blocks {
		if len(b) == 0 || len(b) > maxBlock {
			t.Fatalf("block %d has %d cursors, want 1 to %d", i, len(b), maxBlock)
		}
		if i > 0 && len(b)+len(o.blocks[i-1]) <= maxBlock/2 {
			t.Fatalf("blocks %d and %d have %d and %d cursors and are not merged", i-1, i, len(o.blocks[i-1]), len(b))
		}
		all = append(all, b...)
	}
	if !slices.IsSortedFunc(all, compareCursors) {
		t.Fatalf("not sorted: %v", all)
	}
	if len(all) != o.n {
		t.Fatalf("%d cursors, counted %d", len(all), o.n)
	}
	return all
}

func at(i int) task.Cursor { return task.Cursor{At: task.Millis(i / 3), Key: task.Key(i + 1)} }

func TestSortedSetInSequence(t *testing.T) {
	t.Parallel()
	const n = 10 * maxBlock
	var o sortedSet
	for i := range n {
		o.insert(at(i))
	}
	if got := o.list(t); len(got) != n || len(o.blocks) != 10 {
		t.Errorf("%d cursors in %d blocks, want %d in 10 full ones", len(got), len(o.blocks), n)
	}
	for i := range n {
		if i%50 != 0 {
			o.remove(at(i))
		}
	}
	if o.list(t); len(o.blocks) > 2 {
		t.Errorf("%d cursors are left in %d blocks", o.n, len(o.blocks))
	}
	for i := range n {
		o.remove(at(i))
	}
	if got := o.list(t); len(got) != 0 || len(o.blocks) != 0 {
		t.Errorf("%d cursors in %d blocks after all were removed", len(got), len(o.blocks))
	}
}

// TestSortedSetModel compares a sortedSet with a sorted slice.
func TestSortedSetModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var o sortedSet
		var want []task.Cursor
		const space = 4 * maxBlock
		for range rapid.IntRange(0, 20).Draw(t, "rounds") {
			from := rapid.IntRange(0, space).Draw(t, "from")
			step := rapid.IntRange(1, 7).Draw(t, "step")
			remove := rapid.Bool().Draw(t, "remove")
			for i := from; i < min(from+300, space); i += step {
				location, found := slices.BinarySearchFunc(want, at(i), compareCursors)
				switch {
				case remove && found:
					want = slices.Delete(want, location, location+1)
				case !remove && !found:
					want = slices.Insert(want, location, at(i))
				}
				if remove {
					o.remove(at(i))
				} else if !found {
					o.insert(at(i))
				}
			}
			if got := o.list(t); !slices.Equal(want, got) {
				t.Fatalf("mismatch (-want +got):\n%s", cmp.Diff(want, got))
			}
			probe(t, &o, want, rapid.IntRange(-2, space+2).Draw(t, "probe"))
		}
	})
}

// probe queries o at a position that may or may not be in it.
func probe(t *rapid.T, o *sortedSet, want []task.Cursor, i int) {
	c := at(i)
	location, found := slices.BinarySearchFunc(want, c, compareCursors)
	below, above := want[:location], want[location:]
	if found {
		above = above[1:]
	}
	var got []task.Cursor
	for d := o.below(c); ; d.step() {
		c, ok := d.peek()
		if !ok {
			break
		}
		got = append(got, c)
	}
	slices.Reverse(got)
	if c != (task.Cursor{}) && !slices.Equal(below, got) {
		t.Fatalf("below %v: %v, want %v", c, got, below)
	}
	got = nil
	o.ascend(c, func(c task.Cursor) bool {
		got = append(got, c)
		return true
	})
	if !slices.Equal(above, got) {
		t.Fatalf("above %v: %v, want %v", c, got, above)
	}
	since := len(want) - len(slices.DeleteFunc(slices.Clone(want), func(w task.Cursor) bool { return w.At >= c.At }))
	if n := o.since(c.At, 1<<30); n != since {
		t.Fatalf("since %d: %d, want %d", c.At, n, since)
	}
	if n := o.since(c.At, 10); n <= 10 && n != since {
		t.Fatalf("since %d up to 10: %d, want %d", c.At, n, since)
	}
}

func TestSortedSetStops(t *testing.T) {
	t.Parallel()
	var o sortedSet
	for i := range 3 * maxBlock {
		o.insert(at(i))
	}
	n := 0
	o.ascend(task.Cursor{}, func(task.Cursor) bool {
		n++
		return n < maxBlock+5
	})
	if n != maxBlock+5 {
		t.Errorf("ascend yielded %d cursors, want %d", n, maxBlock+5)
	}
}

func TestSortedSetMove(t *testing.T) {
	t.Parallel()
	var o sortedSet
	o.move(task.Cursor{}, at(1))
	o.move(at(1), at(1))
	o.move(task.Cursor{}, task.Cursor{})
	o.move(at(1), at(7))
	if diff := cmp.Diff([]task.Cursor{at(7)}, o.list(t)); diff != "" {
		t.Errorf("after a move (-want +got):\n%s", diff)
	}
	o.move(at(7), task.Cursor{})
	o.remove(at(7))
	if o.n != 0 {
		t.Errorf("%d cursors are left, want none", o.n)
	}
}

// TestListing wants sorted groups, and none that is empty.
func TestListing(t *testing.T) {
	t.Parallel()
	var s listing
	put := func(agent task.Agent, state task.State, i int) listKey {
		p := listKey{agent, state, at(i)}
		s.move(listKey{}, p)
		return p
	}
	a := put("b", task.Working, 1)
	put("a", task.Completed, 2)
	put("b", task.Submitted, 3)
	put("ab", task.Working, 4)
	names := func() (out []string) {
		for _, g := range s {
			out = append(out, fmt.Sprint(g.agent, " ", g.state))
		}
		return out
	}
	want := []string{"a TASK_STATE_COMPLETED", "ab TASK_STATE_WORKING", "b TASK_STATE_SUBMITTED", "b TASK_STATE_WORKING"}
	if diff := cmp.Diff(want, names()); diff != "" {
		t.Errorf("groups mismatch (-want +got):\n%s", diff)
	}
	s.move(a, listKey{"b", task.Submitted, at(5)})
	if diff := cmp.Diff(want[:3], names()); diff != "" {
		t.Errorf("groups after a move mismatch (-want +got):\n%s", diff)
	}
	if got := total(s.choose("b", nil), 0); got != 2 {
		t.Errorf("agent b has %d tasks, want 2", got)
	}
	if got := total(s.choose("", func(s task.State) bool { return s == task.Working || s == task.Completed }), 0); got != 2 {
		t.Errorf("%d tasks are working or completed, want 2", got)
	}
}

// TestSweepLeavesNothing wants no trace of tasks that were swept.
func TestSweepLeavesNothing(t *testing.T) {
	t.Parallel()
	var m Store
	for i := range 500 {
		owner := fmt.Sprint(i / 10 * 10) // ten tasks each, and pairs of them share a context
		h := task.Head{ID: a2a.TaskID(fmt.Sprint("t", i)), Owner: task.Owner(owner), ContextID: fmt.Sprint("c", i/2), Agent: "a"}
		if i%3 == 0 {
			h.ContextID = fmt.Sprint("alone ", i)
		}
		c := &task.Change{Next: h}
		for _, e := range []task.Entry{{Kind: task.Created, State: task.Submitted, At: 5}, {Kind: task.Status, State: task.Failed, At: 6}} {
			next, stored, err := task.Apply(c.Next, e)
			if err != nil {
				t.Fatal(err)
			}
			c.Next, c.Entries = next, append(c.Entries, stored)
		}
		c.Next.Rev = 1
		if err := m.Append(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if err := m.SaveSnapshot(t.Context(), c.Next.Key, task.Snapshot{Version: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := m.Sweep(t.Context(), 7, 1000); err != nil || n != 500 {
		t.Fatalf("Sweep = %d, %v, want 500", n, err)
	}
	for name, n := range map[string]int{
		"open": len(m.open), "packed": len(m.packed.pages), "chunks": len(m.packed.chunks),
		"snapshots": len(m.snapshots), "ids": len(m.ids.keys) + len(m.ids.collisions), "owners": len(m.owners),
		"singles": len(m.singles.keys) + len(m.singles.collisions), "threads": len(m.threads),
		"order": m.ended.n + m.due.n + m.interrupted.n,
	} {
		if n != 0 {
			t.Errorf("%d entries of swept tasks are left in %s", n, name)
		}
	}
}
