package tasktest

import (
	"context"
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/task"
)

var markTests = []storeTest{
	{"MarkKeep", testMarkKeep},
	{"MarkPages", testMarkPages},
	{"MarkConflict", testMarkConflict},
	{"MarkSweep", testMarkSweep},
}

// marking stores a change with a mark, whose bytes are reused afterwards.
func marking(t *testing.T, s task.Log, c *task.Change, mark string) task.Head {
	t.Helper()
	c.Mark = []byte(mark)
	if err := s.Append(t.Context(), c); err != nil {
		t.Fatalf("Append with mark %q = %v", mark, err)
	}
	return c.Next
}

func wantMark(t *testing.T, s task.Marks, h *task.Head, want string) {
	t.Helper()
	got, err := s.Mark(t.Context(), h.Key)
	if err != nil || string(got.Mark) != want {
		t.Errorf("Mark(%d) = %q, %v, want %q", h.Key, got.Mark, err, want)
	}
	if d := diff(*h, got.Head); d != "" && err == nil {
		t.Errorf("Mark(%d) has another head (-want +got):\n%s", h.Key, d)
	}
}

func wantNoMark(t *testing.T, s task.Marks, key task.Key) {
	t.Helper()
	if got, err := s.Mark(t.Context(), key); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("Mark(%d) = %q, %v, want ErrNotFound", key, got.Mark, err)
	}
}

// testMarkKeep: a mark is kept through all changes of its task, until it is replaced or
// deleted.
func testMarkKeep(t *testing.T, s task.Store) {
	h := marking(t, s, Step(t, NewHead("anna", "t1"), Created(At(0), "hello")), "one")
	wantMark(t, s, &h, "one")
	h = Append(t, s, h, Status(At(1), task.Working, ""))
	wantMark(t, s, &h, "one")
	h = marking(t, s, Step(t, h, Said(At(2), "more")), "two\x00\xff")
	h = Append(t, s, h, Status(At(3), task.Completed, ""))
	wantMark(t, s, &h, "two\x00\xff")
	other := Append(t, s, NewHead("anna", "t2"), Created(At(0), "hello"))
	wantNoMark(t, s, other.Key)
	for range 2 {
		if err := s.Unmark(t.Context(), h.Key); err != nil {
			t.Fatalf("Unmark = %v", err)
		}
		wantNoMark(t, s, h.Key)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Mark(ctx, h.Key); !errors.Is(err, context.Canceled) {
		t.Errorf("Mark = %v, want the cause", err)
	}
}

// testMarkPages lists the marked tasks of every owner, page by page.
func testMarkPages(t *testing.T, s task.Store) {
	var want, got []task.Key
	for i, id := range []a2a.TaskID{"t1", "t2", "t3", "t4", "t5"} {
		c := Step(t, NewHead([]task.Owner{"anna", "bert"}[i%2], id), Created(At(0), "hello"))
		if id == "t3" {
			Append(t, s, NewHead("anna", id), Created(At(0), "hello"))
			continue
		}
		want = append(want, marking(t, s, c, string(id)).Key)
	}
	for after := task.Key(0); ; {
		page, err := s.Marked(t.Context(), after, 3)
		if err != nil || len(page) > 3 {
			t.Fatalf("Marked = %d tasks, %v", len(page), err)
		}
		for i := range page {
			after = page[i].Head.Key
			got = append(got, after)
			if string(page[i].Mark) != string(page[i].Head.ID) {
				t.Errorf("task %s has the mark %q", page[i].Head.ID, page[i].Mark)
			}
		}
		if len(page) == 0 {
			break
		}
	}
	if d := diff(want, got); d != "" {
		t.Errorf("marked tasks (-want +got):\n%s", d)
	}
	if _, err := s.Marked(t.Context(), 0, 0); err == nil {
		t.Error("Marked without a limit succeeds")
	}
}

// testMarkConflict: a change that is not stored leaves no mark.
func testMarkConflict(t *testing.T, s task.Store) {
	old := Append(t, s, NewHead("anna", "t1"), Created(At(0), "hello"))
	Append(t, s, old, Status(At(1), task.Working, ""))
	c := Step(t, old, Said(At(2), "more"))
	c.Mark = []byte("lost")
	if err := s.Append(t.Context(), c); !errors.Is(err, task.ErrConflict) {
		t.Errorf("Append from an old head = %v, want ErrConflict", err)
	}
	wantNoMark(t, s, old.Key)
}

// testMarkSweep: marks are deleted with their tasks.
func testMarkSweep(t *testing.T, s task.Store) {
	h := marking(t, s, Step(t, NewHead("anna", "t1"), Created(At(0), "hello")), "one")
	Append(t, s, h, Status(At(1), task.Completed, ""))
	other := marking(t, s, Step(t, NewHead("anna", "t2"), Created(At(0), "hello")), "two")
	if n, err := s.Sweep(t.Context(), At(1000), 10); n != 1 || err != nil {
		t.Fatalf("Sweep = %d, %v, want 1", n, err)
	}
	wantNoMark(t, s, h.Key)
	wantMark(t, s, &other, "two")
	if page, err := s.Marked(t.Context(), 0, 10); len(page) != 1 || err != nil {
		t.Errorf("Marked = %d tasks, %v, want 1", len(page), err)
	}
}
