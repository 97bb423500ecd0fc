package tasktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/task"
)

func testCreate(t *testing.T, s task.Store) {
	c := Step(t, NewHead("anna", "t1"), Created(At(0), "hello"))
	if err := s.Append(t.Context(), c); err != nil {
		t.Fatalf("Append = %v", err)
	}
	if c.Next.Key == 0 {
		t.Error("Append left Next.Key zero for a new task")
	}
	wantHead(t, s, c.Next)
	if d := diff(c.Entries, Log(t, s, c.Next.Key)); d != "" {
		t.Errorf("Read mismatch (-want +got):\n%s", d)
	}
	other := Append(t, s, NewHead("anna", "t2"), Created(At(0), "hello"))
	if other.Key <= c.Next.Key {
		t.Errorf("the second task has key %d, want more than %d", other.Key, c.Next.Key)
	}
}

func testCreateTwice(t *testing.T, s task.Store) {
	first := Append(t, s, NewHead("anna", "same"), Created(At(0), "anna's"))
	err := s.Append(t.Context(), Step(t, NewHead("anna", "same"), Created(At(1), "again")))
	if !errors.Is(err, task.ErrExists) {
		t.Errorf("Append of a second task with the same id = %v, want ErrExists", err)
	}
	wantHead(t, s, first)
	second := Append(t, s, NewHead("bert", "same"), Created(At(2), "bert's"))
	if first.Key == second.Key {
		t.Errorf("two tasks have key %d", first.Key)
	}
	wantHead(t, s, first)
	wantHead(t, s, second)
	if got := string(Log(t, s, second.Key)[0].Body); !strings.Contains(got, "bert's") {
		t.Errorf("first entry of bert's task = %s", got)
	}
}

// fullHead returns a head with every field set.
func fullHead() task.Head {
	h := NewHead("org:ö", "t/1 ?")
	h.Agent, h.ContextID, h.Dialect, h.Visibility = "agent.x", "c'\"", 3, task.Hidden
	h.Run = task.Run{
		Epoch: 2, Seq: 3, Holder: "hub-1", Dispatch: task.Claimed, Attempt: 4, Disclosed: true,
	}
	h.CancelAt, h.Consumed = At(9), 1
	return h
}

// testKeep stores a value in every field, and reads it back.
func testKeep(t *testing.T, s task.Store) {
	first := Created(At(0), "hello \u2028 \x00 wörld")
	first.Call = []byte{0, 1, 2, 255}
	h := Append(t, s, fullHead(), first)
	wantHead(t, s, h)

	working := Status(At(1), task.Working, "busy")
	working.Epoch, working.Seq, working.Meta = 2, 4, []byte(`{"n":12345678901234567890}`)
	last := Chunk(At(2), "a", "text")
	last.LastChunk, last.Meta, last.Epoch, last.Seq = true, []byte(`{}`), 2, 5
	working.Others = []byte(`{"event":{"generation":9007199254740993},"status":{"f":1.50},"task":{"":null}}`)
	whole := Chunk(At(2), "b", strings.Repeat("long ", 100))
	whole.Append = false
	other := task.Entry{Kind: task.Other, At: At(3), Epoch: 2, Seq: 6, Body: []byte(`{"messageUpdate":{"n":1}}`)}
	h = Append(t, s, h, working, last, whole, other, FollowUp(At(3), "more"))
	if len(h.Sealed) != 1 || len(h.StatusMessage) == 0 || h.LastMessage != 6 || !h.Others || !h.Run.Disclosed {
		t.Fatalf("the entries lead to another head: %+v", h)
	}
	wantHead(t, s, h)
	want := Step(t, fullHead(), first, working, last, whole, other, FollowUp(At(3), "more")).Entries
	if d := diff(want, Log(t, s, h.Key)); d != "" {
		t.Errorf("Read mismatch (-want +got):\n%s", d)
	}
}

func testConflict(t *testing.T, s task.Store) {
	old := Append(t, s, NewHead("anna", "t1"), Created(At(0), "hello"))
	now := Append(t, s, old, Status(At(1), task.Working, ""))
	for name, loser := range map[string]*task.Change{
		"entries": Step(t, old, Chunk(At(2), "a", "lost"), Status(At(2), task.Completed, "lost")),
		"row":     Step(t, old),
	} {
		if err := s.Append(t.Context(), loser); !errors.Is(err, task.ErrConflict) {
			t.Errorf("Append of %s from an old head = %v, want ErrConflict", name, err)
		}
		wantHead(t, s, now)
		if got := Log(t, s, now.Key); len(got) != 2 {
			t.Errorf("after a lost append of %s the log has %d entries, want 2", name, len(got))
		}
	}
	page, err := s.List(t.Context(), &task.Query{Owner: "anna", Limit: 10, State: task.Completed})
	if err != nil || page.Total != 0 {
		t.Errorf("List of completed tasks = %d, %v, want none", page.Total, err)
	}
	now = Append(t, s, now, Status(At(3), task.Completed, "won"))
	wantHead(t, s, now)
}

func testRow(t *testing.T, s task.Store) {
	h := Append(t, s, NewHead("anna", "t1"), Created(At(0), "hello"))
	h = Alter(t, s, h, func(h *task.Head) {
		h.Run = task.Run{Epoch: 1, Dispatch: task.Claimed, Holder: "hub", Attempt: 1}
		h.Consumed, h.CancelAt, h.Visibility = 1, At(5), task.Hidden
	})
	wantHead(t, s, h)
	h = Alter(t, s, h, func(h *task.Head) { h.Visibility, h.CancelAt = task.Visible, 0 })
	wantHead(t, s, h)
	h = Alter(t, s, h, func(h *task.Head) { h.Assigned = "other" })
	wantHead(t, s, h)
	h = Alter(t, s, h, func(h *task.Head) { h.Assigned = "" })
	wantHead(t, s, h)
	if h.Rev != 5 || h.Version != 1 || len(Log(t, s, h.Key)) != 1 {
		t.Errorf("rev %d, version %d after four changes of the row, want 5 and 1", h.Rev, h.Version)
	}
}

func testScope(t *testing.T, s task.Store) {
	asking := Append(t, s, NewHead("anna", "t1"),
		Created(At(0), "hello"), Status(At(1), task.InputRequired, "name?"))
	for _, owner := range []task.Owner{"bert", "", "Anna", "anna "} {
		if _, err := s.Head(t.Context(), owner, asking.ID); !errors.Is(err, task.ErrNotFound) {
			t.Errorf("Head(%q) = %v, want ErrNotFound", owner, err)
		}
		q := &task.Query{Owner: owner, ContextID: "c", Agent: "echo", Limit: 10}
		if page, err := s.List(t.Context(), q); err != nil || page.Total != 0 || len(page.Heads) != 0 {
			t.Errorf("List(%q) = %d tasks, total %d, %v, want none", owner, len(page.Heads), page.Total, err)
		}
		if _, err := s.Interrupted(t.Context(), q); !errors.Is(err, task.ErrNotFound) {
			t.Errorf("Interrupted(%q) = %v, want ErrNotFound", owner, err)
		}
	}
	for _, id := range []a2a.TaskID{"", "t2", "T1"} {
		if _, err := s.Head(t.Context(), "anna", id); !errors.Is(err, task.ErrNotFound) {
			t.Errorf("Head(anna, %q) = %v, want ErrNotFound", id, err)
		}
	}
}

// testPages reads a long log from many versions and always gets a page of the entries that
// follow.
func testPages(t *testing.T, s task.Store) {
	const n = 700
	h := Append(t, s, NewHead("anna", "t1"), Created(At(0), "hello"))
	for h.Version < n {
		var es []task.Entry
		for range min(n-h.Version, 1+h.Version%90) {
			es = append(es, Chunk(At(1), "a", fmt.Sprint("chunk ", h.Version, len(es))))
		}
		h = Append(t, s, h, es...)
	}
	for _, after := range []int64{0, 1, 2, 17, 255, 256, 300, 443, 444, n - 1} {
		page, err := s.Read(t.Context(), h.Key, after)
		if err != nil {
			t.Fatalf("Read(after %d) = %v", after, err)
		}
		if len(page) == 0 || len(page) > 256 {
			t.Errorf("Read(after %d) = %d entries, want 1 to 256", after, len(page))
		}
		for i := range page {
			if got, want := page[i].Version, after+1+int64(i); got != want {
				t.Fatalf("Read(after %d): entry %d has version %d, want %d", after, i, got, want)
			}
		}
	}
	if got := len(Log(t, s, h.Key)); got != n {
		t.Errorf("the log has %d entries, want %d", got, n)
	}
}

// testPageBytes wants pages of large entries to be short, but never empty.
func testPageBytes(t *testing.T, s task.Store) {
	const n, size = 12, 400 << 10
	h := Append(t, s, NewHead("anna", "t1"), Created(At(0), "hello"))
	for i := range n {
		text := strings.Repeat(string(rune('a'+i)), size)
		if i == n-1 {
			text = strings.Repeat(text, 5)
		}
		h = Append(t, s, h, Chunk(At(1), "a", text))
	}
	for after := int64(0); after < h.Version; {
		page, err := s.Read(t.Context(), h.Key, after)
		if err != nil || len(page) == 0 {
			t.Fatalf("Read(after %d) = %d entries, %v", after, len(page), err)
		}
		total := 0
		for i := range page[:len(page)-1] {
			total += len(page[i].Body)
		}
		if total > 3<<20 {
			t.Errorf("Read(after %d): %d bytes before the last entry, want about 1 MiB", after, total)
		}
		after = page[len(page)-1].Version
	}
	all := Log(t, s, h.Key)
	want := Chunk(At(1), "a", strings.Repeat("c", size)).Body
	if !bytes.Equal(all[3].Body, want) {
		t.Errorf("entry 4 has a body of %d bytes, want %d of its own", len(all[3].Body), len(want))
	}
}

func testReadNothing(t *testing.T, s task.Store) {
	h := Append(t, s, NewHead("anna", "t1"), Created(At(0), "hello"))
	for _, after := range []int64{1, 2, 1 << 40} {
		if page, err := s.Read(t.Context(), h.Key, after); err != nil || len(page) != 0 {
			t.Errorf("Read(after %d) = %d entries, %v, want none", after, len(page), err)
		}
	}
	for _, key := range []task.Key{0, -1, h.Key + 1000} {
		if _, err := s.Read(t.Context(), key, 0); !errors.Is(err, task.ErrNotFound) {
			t.Errorf("Read(key %d) = %v, want ErrNotFound", key, err)
		}
	}
}

// testCancellation wants a change to be stored completely or not at all if its caller cancels,
// and the store to keep working.
func testCancellation(t *testing.T, s task.Store) {
	h := Append(t, s, NewHead("anna", "t1"), Created(At(0), "hello"))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	c := Step(t, h, Status(At(1), task.Working, ""), Chunk(At(1), "a", "x"))
	if err := s.Append(gone, c); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Append after cancellation = %v, want nil or context.Canceled", err)
	}
	// A change of another task is stored after the first, if that was begun.
	Append(t, s, NewHead("anna", "t2"), Created(At(2), "hello"))
	now, err := s.Head(t.Context(), h.Owner, h.ID)
	if err != nil {
		t.Fatalf("Head = %v", err)
	}
	if got := Log(t, s, h.Key); int64(len(got)) != now.Version || now.Version != 1 && now.Version != 3 {
		t.Errorf("head at version %d and %d entries, want 1 or 3 of both", now.Version, len(got))
	}
	wantHead(t, s, Append(t, s, now, Status(At(3), task.Completed, "done")))
	if _, err := s.Head(gone, h.Owner, h.ID); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Head after cancellation = %v, want nil or context.Canceled", err)
	}
}

// testMistakes: an inconsistent change is refused, and no part of it is stored.
func testMistakes(t *testing.T, s task.Store) {
	h := Append(t, s, NewHead("anna", "t1"), Created(At(0), "hello"))
	for name, spoil := range map[string]func(c *task.Change){
		"rev":     func(c *task.Change) { c.Next.Rev++ },
		"version": func(c *task.Change) { c.Next.Version++ },
		"entry":   func(c *task.Change) { c.Entries[0].Version = 7 },
		"key":     func(c *task.Change) { c.Next.Key++ },
		"id":      func(c *task.Change) { c.Next.ID = "other" },
		"owner":   func(c *task.Change) { c.Next.Owner = "bert" },
		"agent":   func(c *task.Change) { c.Next.Agent = "clock" },
		"context": func(c *task.Change) { c.Next.ContextID = "other" },
		"hook":    func(c *task.Change) { c.Hook = new(task.Hook) },
		"request": func(c *task.Change) { c.Request = new(task.Request) },
		"record":  func(c *task.Change) { c.Journal = []task.Record{{}} },
	} {
		c := Step(t, h, Status(At(1), task.Working, ""))
		spoil(c)
		err := s.Append(t.Context(), c)
		if err == nil || errors.Is(err, task.ErrConflict) || errors.Is(err, task.ErrUnavailable) {
			t.Errorf("Append with a wrong %s = %v, want an error of its own", name, err)
		}
	}
	wantHead(t, s, h)
	if got := len(Log(t, s, h.Key)); got != 1 {
		t.Errorf("the log has %d entries after refused changes, want 1", got)
	}
}

func testExcerpts(t *testing.T, s task.Store) {
	first := Append(t, s, NewHead("anna", "t1"), Created(At(0), "hello"), Status(At(1), task.Working, "begun"))
	first = Append(t, s, first, Chunk(At(2), "a", "one"), Chunk(At(3), "a", "two"))
	large := Append(t, s, NewHead("bert", "t2"), Created(At(0), strings.Repeat("x", 100<<10)))
	huge := Append(t, s, NewHead("bert", "t3"), Created(At(0), strings.Repeat("x", 2<<20)))
	last := Append(t, s, NewHead("carl", "t4"), Created(At(0), "good night"))
	at := []task.Position{
		{Key: last.Key, Version: 1},
		{Key: first.Key, Version: 1},
		{Key: first.Key, Version: 2},
		{Key: first.Key, Version: 3},
		{Key: first.Key, Version: 4},
		{Key: first.Key, Version: 1},
		{Key: first.Key, Version: 5},
		{Key: first.Key, Version: 0},
		{Key: first.Key, Version: -1},
		{Key: first.Key, Version: 1 << 40},
		{Key: large.Key, Version: 1},
		{Key: huge.Key, Version: 1},
		{Key: last.Key + 1000, Version: 1},
		{Key: 0, Version: 1},
		{},
	}
	found, err := s.Excerpts(t.Context(), at, 64<<10)
	if err != nil || len(found) != len(at) {
		t.Fatalf("Excerpts = %d entries, %v, want %d", len(found), err, len(at))
	}
	log := Log(t, s, first.Key)
	want := append(make([]task.Entry, 0, len(at)), Log(t, s, last.Key)[0], log[0], log[1], log[2], log[3], log[0])
	if d := diff(want, found[:6]); d != "" {
		t.Errorf("Excerpts mismatch (-want +got):\n%s", d)
	}
	for i := range found[6:] {
		if e := &found[6+i]; e.Version != 0 || e.Body != nil {
			t.Errorf("the excerpt at %+v = version %d, %.20q, want none", at[6+i], e.Version, e.Body)
		}
	}
	if none, err := s.Excerpts(t.Context(), nil, 64<<10); err != nil || len(none) != 0 {
		t.Errorf("Excerpts of nothing = %d entries, %v", len(none), err)
	}
}
