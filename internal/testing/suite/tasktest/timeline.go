package tasktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/task"
)

// timelineTests are the tests of the order of all changes.
var timelineTests = []storeTest{
	{"TimelineOrder", testTimelineOrder},
	{"TimelinePages", testTimelinePages},
	{"TimelineHeads", testTimelineHeads},
	{"TimelineNotices", testTimelineNotices},
	{"TimelineParallel", testTimelineParallel},
}

// moments returns all moments above after, in pages of limit.
func moments(t *testing.T, s task.Timeline, after int64, limit int) []task.Moment {
	t.Helper()
	var all []task.Moment
	for {
		page, err := s.Timeline(t.Context(), after, limit)
		if err != nil {
			t.Fatalf("Timeline(%d) = %v", after, err)
		}
		if len(page.Moments) == 0 {
			return all
		}
		if len(page.Moments) > limit {
			t.Fatalf("Timeline returned %d moments, want at most %d", len(page.Moments), limit)
		}
		for i := range page.Moments {
			if seq := page.Moments[i].Seq; seq <= after || seq < page.Oldest || seq > page.Newest {
				t.Fatalf("moment %d after %d in a timeline from %d to %d", seq, after, page.Oldest, page.Newest)
			}
			after = page.Moments[i].Seq
		}
		all = append(all, page.Moments...)
	}
}

// brief describes moments by owner, id and versions, or by their notice.
func brief(all []task.Moment) (texts []string) {
	for i := range all {
		m := &all[i]
		if m.Notice != nil {
			texts = append(texts, string(m.Notice))
			continue
		}
		texts = append(texts, fmt.Sprintf("%s/%s %d-%d", m.Head.Owner, m.Head.ID, m.First, m.Last))
	}
	return texts
}

func wantMoments(t *testing.T, got []task.Moment, want ...string) {
	t.Helper()
	if d := diff(want, brief(got)); d != "" {
		t.Errorf("timeline mismatch (-want +got):\n%s", d)
	}
}

// testTimelineOrder checks that changes with entries are listed once, in the order of their
// appends, and refused changes and changes of the row not at all.
func testTimelineOrder(t *testing.T, s task.Store) {
	anna := Append(t, s, NewHead("anna", "t1"), Created(At(0), "hello"))
	stale := anna
	bert := Append(t, s, NewHead("bert", "t1"), Created(At(0), "hello"))
	anna = Append(t, s, anna, Status(At(1), task.Working, ""), Chunk(At(2), "a", "x"), Status(At(3), task.Completed, ""))
	Alter(t, s, bert, func(h *task.Head) { h.UpdatedAt++ })
	if err := s.Append(t.Context(), Step(t, stale, Status(At(4), task.Working, ""))); !errors.Is(err, task.ErrConflict) {
		t.Fatalf("outdated Append = %v, want ErrConflict", err)
	}
	got := moments(t, s, 0, 10)
	wantMoments(t, got, "anna/t1 1-1", "bert/t1 1-1", "anna/t1 2-4")
	if t.Failed() {
		return
	}
	if got[0].Key != anna.Key || got[2].Key != anna.Key || got[1].Key != bert.Key {
		t.Errorf("keys are %d, %d, %d, want %d, %d, %d", got[0].Key, got[1].Key, got[2].Key, anna.Key, bert.Key, anna.Key)
	}
}

// testTimelinePages reads from each position, in pages of several sizes.
func testTimelinePages(t *testing.T, s task.Store) {
	if page, err := s.Timeline(t.Context(), 0, 10); err != nil || len(page.Moments) > 0 || page.Newest != 0 {
		t.Errorf("Timeline of an empty store = %+v, %v", page, err)
	}
	if _, err := s.Timeline(t.Context(), 0, 0); err == nil {
		t.Error("Timeline with limit 0 = nil, want an error")
	}
	h := Append(t, s, NewHead("anna", "t1"), Created(At(0), "hello"))
	for i := range 9 {
		h = Append(t, s, h, Chunk(At(int64(i)), "a", "x"))
	}
	all := moments(t, s, 0, 3)
	if len(all) != 10 {
		t.Fatalf("timeline has %d moments, want 10", len(all))
	}
	for i := range all {
		for limit := 1; limit < 12; limit++ {
			if d := diff(all[i+1:], moments(t, s, all[i].Seq, limit)); d != "" {
				t.Fatalf("after %d in pages of %d (-want +got):\n%s", all[i].Seq, limit, d)
			}
		}
	}
	page, err := s.Timeline(t.Context(), all[9].Seq+100, 10)
	if err != nil || len(page.Moments) > 0 || page.Newest != all[9].Seq || page.ID == "" {
		t.Errorf("Timeline after its end = %+v, %v, want no moments and the newest position", page, err)
	}
}

// testTimelineHeads checks that moments have current heads, and none for deleted tasks.
func testTimelineHeads(t *testing.T, s task.Store) {
	old := Append(t, s, NewHead("anna", "old"), Created(At(0), "hello"))
	old = Append(t, s, old, Status(At(1), task.Completed, ""))
	kept := Append(t, s, NewHead("anna", "new"), Created(At(100), "hello"))
	kept = Append(t, s, kept, Status(At(101), task.Completed, ""))
	if _, err := s.Sweep(t.Context(), At(50), 10); err != nil {
		t.Fatal(err)
	}
	got := moments(t, s, 0, 10)
	if len(got) != 4 {
		t.Fatalf("timeline has %d moments, want 4", len(got))
	}
	for i, want := range []task.Head{{}, {}, kept, kept} {
		if d := diff(want, got[i].Head); d != "" {
			t.Errorf("head of moment %d mismatch (-want +got):\n%s", i, d)
		}
	}
	if got[0].Key != old.Key || got[1].Key != old.Key {
		t.Errorf("keys of the deleted task are %d and %d, want %d", got[0].Key, got[1].Key, old.Key)
	}
}

// testTimelineNotices checks the order of notices among changes, and their bounds.
func testTimelineNotices(t *testing.T, s task.Store) {
	add := func(notices ...string) error {
		var all [][]byte
		for _, n := range notices {
			all = append(all, []byte(n))
		}
		err := s.AddNotices(t.Context(), all)
		for _, n := range all {
			clear(n) // stores must not retain them
		}
		return err
	}
	if err := add("one", "two"); err != nil {
		t.Fatal(err)
	}
	Append(t, s, NewHead("anna", "t1"), Created(At(0), "hello"))
	if err := add("three"); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", string(make([]byte, task.MaxNotice+1))} {
		if err := add("four", bad); !errors.Is(err, task.ErrNotice) {
			t.Errorf("AddNotices(%d bytes) = %v, want ErrNotice", len(bad), err)
		}
	}
	wantMoments(t, moments(t, s, 0, 10), "one", "two", "anna/t1 1-1", "three")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.AddNotices(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("AddNotices with a canceled context = %v", err)
	}
}

// testTimelineParallel checks that a reader that follows concurrent writers misses no moment.
func testTimelineParallel(t *testing.T, s task.Store) {
	const writers, changes = 4, 50
	var all sync.WaitGroup
	defer all.Wait()
	var finished atomic.Int32
	for i := range writers {
		all.Go(func() {
			defer finished.Add(1)
			h := Append(t, s, NewHead("anna", a2a.TaskID(fmt.Sprint("t", i))), Created(At(0), "hello"))
			for n := range changes - 1 {
				h = Append(t, s, h, Chunk(At(int64(n)), "a", "x"))
			}
		})
	}
	var seen []task.Moment
	after := func() int64 {
		if len(seen) == 0 {
			return 0
		}
		return seen[len(seen)-1].Seq
	}
	for over := false; !over; {
		over = finished.Load() == writers // one more look after the last change
		seen = append(seen, moments(t, s, after(), 7)...)
	}
	next := make(map[task.Key]int64)
	for i := range seen {
		if next[seen[i].Key]++; seen[i].First != next[seen[i].Key] {
			t.Fatalf("moment %d has version %d of task %d, want %d", i, seen[i].First, seen[i].Key, next[seen[i].Key])
		}
	}
	if len(seen) != writers*changes || !slices.IsSortedFunc(seen, func(a, b task.Moment) int { return int(a.Seq - b.Seq) }) {
		t.Errorf("the reader has seen %d moments in this order, want %d", len(seen), writers*changes)
	}
}
