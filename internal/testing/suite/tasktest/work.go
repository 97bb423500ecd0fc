package tasktest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/task"
)

// testDue creates tasks of every state and kind of work, and checks which are due.
func testDue(t *testing.T, s task.Store) {
	states := []task.State{
		task.Submitted, task.Working, task.InputRequired, task.AuthRequired,
		task.Completed, task.Failed, task.Rejected,
	}
	work := map[string]func(h *task.Head){
		"nothing":   func(*task.Head) {},
		"pending":   func(h *task.Head) { h.Run.Dispatch, h.Run.Holder = task.Pending, "hub" },
		"published": func(h *task.Head) { h.Run.Dispatch = task.Published },
		"claimed":   func(h *task.Head) { h.Run.Dispatch, h.Run.Holder = task.Claimed, "hub" },
		"cancel":    func(h *task.Head) { h.CancelAt = At(5) },
		"unread":    func(h *task.Head) { h.Consumed = 0 },
		"asking":    func(h *task.Head) { h.Run.Dispatch, h.Run.Holder = task.Asking, "hub" },
		"quiet":     func(h *task.Head) { h.Visibility, h.Run.Dispatch = task.Hidden, task.Claimed },
		"answered":  func(h *task.Head) { h.Visibility, h.Consumed = task.Replied, 0 },
	}
	want := map[task.Key]a2a.TaskID{}
	for i, state := range states {
		for name, f := range work {
			owner := task.Owner(fmt.Sprint("owner", i%2))
			es := []task.Entry{Created(At(int64(100-i)), "hello")}
			if state != task.Submitted {
				es = append(es, Status(At(int64(100-i)), state, ""))
			}
			h := Append(t, s, NewHead(owner, a2a.TaskID(fmt.Sprint(name, i))), es...)
			h = Alter(t, s, h, func(h *task.Head) {
				h.Consumed = h.LastMessage
				f(h)
			})
			if state.Open() && name != "nothing" && name != "answered" {
				want[h.Key] = h.ID
			}
		}
	}
	for _, limit := range []int{1, 5, len(want), 100} {
		got := dueAll(t, s, limit)
		if len(got) != len(want) {
			t.Errorf("Due by %d = %v, want %v", limit, ids(got), want)
		}
		for i, h := range got {
			if want[h.Key] != h.ID || i > 0 && got[i-1].Key >= h.Key {
				t.Errorf("Due by %d: %s is not due, or out of order", limit, h.ID)
			}
		}
	}
}

// dueAll pages through the due tasks of every owner.
func dueAll(t testing.TB, s task.Work, limit int) []task.Head {
	t.Helper()
	var all []task.Head
	after := task.Key(0)
	for {
		heads, err := s.Due(t.Context(), after, limit)
		if err != nil || len(heads) > limit {
			t.Fatalf("Due(after %d, %d) = %d heads, %v", after, limit, len(heads), err)
		}
		if len(heads) == 0 {
			return all
		}
		all = append(all, heads...)
		after = heads[len(heads)-1].Key
	}
}

func testStale(t *testing.T, s task.Store) {
	n := 0
	ask := func(owner task.Owner, context string, ms int64) task.Head {
		n++
		h := NewHead(owner, a2a.TaskID(fmt.Sprint("t", n)))
		h.ContextID = context
		return Append(t, s, h, Created(At(ms), "hello"), Status(At(ms), task.InputRequired, "?"))
	}
	want := func(before int64, want ...a2a.TaskID) {
		t.Helper()
		heads, err := s.Stale(t.Context(), At(before), 100)
		if err != nil {
			t.Fatalf("Stale(%d) = %v", before, err)
		}
		got := map[a2a.TaskID]bool{}
		for _, h := range heads {
			got[h.ID] = true
		}
		wanted := map[a2a.TaskID]bool{}
		for _, id := range want {
			wanted[id] = true
		}
		if d := diff(wanted, got); d != "" {
			t.Errorf("Stale(%d) mismatch (-want +got):\n%s", before, d)
		}
	}
	old := ask("anna", "quiet", 10)
	ask("anna", "busy", 10)
	ask("bert", "busy", 10)
	running := Alter(t, s, ask("anna", "running", 10), func(h *task.Head) { h.Run.Dispatch = task.Pending })
	Append(t, s, NewHead("anna", "working"), Created(At(10), "hello"), Status(At(10), task.Working, ""))
	other := NewHead("anna", "other")
	other.ContextID = "busy"
	Append(t, s, other, Created(At(50), "hello"))

	want(10)
	want(11, "t1", "t3")
	want(50, "t1", "t3")
	want(51, "t1", "t2", "t3")
	Alter(t, s, running, func(h *task.Head) { h.Run.Dispatch = task.Idle })
	want(51, "t1", "t2", "t3", "t4")
	Append(t, s, old, FollowUp(At(60), "still here"))
	want(51, "t2", "t3", "t4")
	if heads, err := s.Stale(t.Context(), At(100), 2); err != nil || len(heads) != 2 {
		t.Errorf("Stale with limit 2 = %d heads, %v", len(heads), err)
	}
}

func testSweep(t *testing.T, s task.Store) {
	add := func(id a2a.TaskID, ms int64, state task.State) task.Head {
		return Append(t, s, NewHead("anna", id),
			Created(At(0), "hello"), Chunk(At(1), "a", "text"), Status(At(ms), state, ""))
	}
	old := add("old", 10, task.Completed)
	add("failed", 11, task.Failed)
	young := add("young", 20, task.Completed)
	open := add("open", 5, task.Working)
	asking := add("asking", 5, task.InputRequired)

	if n, err := s.Sweep(t.Context(), At(10), 100); err != nil || n != 0 {
		t.Errorf("Sweep before the first end = %d, %v, want 0", n, err)
	}
	if n, err := s.Sweep(t.Context(), At(20), 100); err != nil || n != 2 {
		t.Errorf("Sweep = %d, %v, want 2", n, err)
	}
	if _, err := s.Head(t.Context(), "anna", "old"); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("Head of a swept task = %v, want ErrNotFound", err)
	}
	if _, err := s.Read(t.Context(), old.Key, 0); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("Read of a swept task = %v, want ErrNotFound", err)
	}
	wantList(t, s, task.Query{Owner: "anna"}, "young", "asking", "open")
	wantList(t, s, task.Query{Owner: "anna", State: task.Completed}, "young")
	wantList(t, s, task.Query{Owner: "anna", State: task.Failed})
	wantList(t, s, task.Query{Owner: "anna", ContextID: "c"}, "young", "asking", "open")
	for _, h := range []task.Head{young, open, asking} {
		wantHead(t, s, h)
		if got := len(Log(t, s, h.Key)); got != 3 {
			t.Errorf("%s has %d entries after the sweep, want 3", h.ID, got)
		}
	}
	lost := Step(t, old)
	if err := s.Append(t.Context(), lost); !errors.Is(err, task.ErrConflict) {
		t.Errorf("Append to a swept task = %v, want ErrConflict", err)
	}
	again := add("old", 30, task.Completed)
	if again.Key == old.Key {
		t.Errorf("key %d of a swept task is used again", old.Key)
	}
}

func testSweepAnswered(t *testing.T, s task.Store) {
	h := NewHead("anna", "a")
	h.Visibility = task.Hidden
	h = Append(t, s, h, Created(At(5), "hello"))
	if n, err := s.Sweep(t.Context(), At(100), 10); err != nil || n != 0 {
		t.Errorf("Sweep of a quiet task = %d, %v, want 0", n, err)
	}
	Alter(t, s, h, func(h *task.Head) { h.Visibility = task.Replied })
	if n, err := s.Sweep(t.Context(), At(5), 10); err != nil || n != 0 {
		t.Errorf("Sweep before the answer = %d, %v, want 0", n, err)
	}
	if n, err := s.Sweep(t.Context(), At(6), 10); err != nil || n != 1 {
		t.Errorf("Sweep = %d, %v, want 1", n, err)
	}
	if _, err := s.Head(t.Context(), "anna", "a"); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("Head of a swept task = %v, want ErrNotFound", err)
	}
}

func testSweepLimit(t *testing.T, s task.Store) {
	const tasks = 11
	for i := range tasks {
		Append(t, s, NewHead("anna", a2a.TaskID(fmt.Sprint("t", i))),
			Created(At(1), "hello"), Status(At(int64(i)+2), task.Completed, ""))
	}
	left := tasks
	for left > 0 {
		n, err := s.Sweep(t.Context(), At(100), 4)
		if err != nil || n != min(4, left) {
			t.Fatalf("Sweep with %d left = %d, %v, want %d", left, n, err, min(4, left))
		}
		left -= n
		page, err := s.List(t.Context(), &task.Query{Owner: "anna", Limit: 1})
		if err != nil || page.Total != left {
			t.Fatalf("Total with %d left = %d, %v", left, page.Total, err)
		}
	}
}

// testProbe: Probe succeeds on a working store, and returns an error for a canceled context.
func testProbe(t *testing.T, s task.Store) {
	if err := s.Probe(t.Context()); err != nil {
		t.Errorf("Probe = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Probe(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Probe = %v, want the cause", err)
	}
}

func testSnapshots(t *testing.T, s task.Store) {
	h := Append(t, s, NewHead("anna", "t1"), Created(At(0), "hello"), Status(At(1), task.Completed, ""))
	want := func(key task.Key, want task.Snapshot) {
		t.Helper()
		got, err := s.Snapshot(t.Context(), key)
		if err != nil {
			t.Fatalf("Snapshot(%d) = %v", key, err)
		}
		if d := diff(want, got); d != "" {
			t.Errorf("Snapshot(%d) mismatch (-want +got):\n%s", key, d)
		}
	}
	save := func(v int64, data string) {
		t.Helper()
		snap := task.Snapshot{Version: v, Data: []byte(data)}
		if err := s.SaveSnapshot(t.Context(), h.Key, snap); err != nil {
			t.Fatalf("SaveSnapshot(%d) = %v", v, err)
		}
		clear(snap.Data)
	}
	want(h.Key, task.Snapshot{})
	want(h.Key+1000, task.Snapshot{})
	save(1, "one\x00\xff")
	want(h.Key, task.Snapshot{Version: 1, Data: []byte("one\x00\xff")})
	save(2, "two")
	want(h.Key, task.Snapshot{Version: 2, Data: []byte("two")})
	save(1, "late")
	want(h.Key, task.Snapshot{Version: 2, Data: []byte("two")})
	if n, err := s.Sweep(t.Context(), At(100), 10); err != nil || n != 1 {
		t.Fatalf("Sweep = %d, %v", n, err)
	}
	want(h.Key, task.Snapshot{})
}
