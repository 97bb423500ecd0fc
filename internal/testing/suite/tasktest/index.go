package tasktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/internal/task"
)

// ids returns the ids of heads, for test messages.
func ids(heads []task.Head) []a2a.TaskID {
	var out []a2a.TaskID
	for i := range heads {
		out = append(out, heads[i].ID)
	}
	return out
}

// listAll reads all pages. It fails the test if a page does not match its size and More.
func listAll(t testing.TB, s task.Index, q task.Query) []task.Head {
	t.Helper()
	var all []task.Head
	for {
		page, err := s.List(context.Background(), &q)
		if err != nil {
			t.Fatalf("List(%+v) = %v", q, err)
		}
		all = append(all, page.Heads...)
		if len(page.Heads) > q.Limit || page.More && len(page.Heads) < q.Limit {
			t.Fatalf("List(%+v) = %d heads, more %v", q, len(page.Heads), page.More)
		}
		if !page.More {
			return all
		}
		last := page.Heads[len(page.Heads)-1]
		q.After = task.Cursor{At: last.StatusAt, Key: last.Key}
	}
}

func wantList(t *testing.T, s task.Store, q task.Query, want ...a2a.TaskID) {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	page, err := s.List(t.Context(), &q)
	if err != nil {
		t.Fatalf("List(%+v) = %v", q, err)
	}
	if d := diff(want, ids(page.Heads)); d != "" {
		t.Errorf("List(%+v) mismatch (-want +got):\n%s", q, d)
	}
	if page.Total != len(want) {
		t.Errorf("List(%+v).Total = %d, want %d", q, page.Total, len(want))
	}
}

func testListOrder(t *testing.T, s task.Store) {
	for i, ms := range []int64{5, 3, 9, 3, 7} {
		Append(t, s, NewHead("anna", a2a.TaskID(fmt.Sprint("t", i))), Created(At(ms), "hello"))
	}
	Append(t, s, NewHead("bert", "b"), Created(At(6), "hello"))
	wantList(t, s, task.Query{Owner: "anna"}, "t2", "t4", "t0", "t3", "t1")
	wantList(t, s, task.Query{Owner: "bert"}, "b")
	page, err := s.List(t.Context(), &task.Query{Owner: "anna", Limit: 1})
	if err != nil || len(page.Heads) != 1 {
		t.Fatalf("List = %d heads, %v", len(page.Heads), err)
	}
	wantHead(t, s, page.Heads[0])
}

// testListMoves wants a task to move to the front when its status changes, and to keep its
// position after other changes.
func testListMoves(t *testing.T, s task.Store) {
	a := Append(t, s, NewHead("anna", "a"), Created(At(1), "hello"))
	b := Append(t, s, NewHead("anna", "b"), Created(At(2), "hello"))
	wantList(t, s, task.Query{Owner: "anna"}, "b", "a")
	a = Append(t, s, a, FollowUp(At(3), "more"), Chunk(At(4), "x", "text"))
	a = Alter(t, s, a, func(h *task.Head) { h.Consumed = 1 })
	wantList(t, s, task.Query{Owner: "anna"}, "b", "a")
	Append(t, s, a, Status(At(5), task.Working, ""))
	wantList(t, s, task.Query{Owner: "anna"}, "a", "b")
	wantList(t, s, task.Query{Owner: "anna", State: task.Submitted}, "b")
	wantList(t, s, task.Query{Owner: "anna", State: task.Working}, "a")
	Append(t, s, b, Status(At(5), task.Working, ""))
	wantList(t, s, task.Query{Owner: "anna", State: task.Working}, "b", "a")
	wantList(t, s, task.Query{Owner: "anna", State: task.Submitted})
}

// testListCursor pages, with every page size, through tasks of which many share a time.
func testListCursor(t *testing.T, s task.Store) {
	var want []a2a.TaskID
	for i := range 23 {
		h := NewHead("anna", a2a.TaskID(fmt.Sprint("t", i)))
		h.Agent = task.Agent(fmt.Sprint("agent", i%3))
		Append(t, s, h, Created(At(int64(i/5)), "hello"))
		want = append(want, h.ID)
	}
	slices.Reverse(want)
	for limit := 1; limit <= 24; limit++ {
		got := ids(listAll(t, s, task.Query{Owner: "anna", Limit: limit}))
		if d := diff(want, got); d != "" {
			t.Errorf("pages of %d mismatch (-want +got):\n%s", limit, d)
		}
	}
	// A cursor need not be that of a task.
	wantAfter := func(c task.Cursor, n int) {
		t.Helper()
		got := ids(listAll(t, s, task.Query{Owner: "anna", Limit: 7, After: c}))
		if d := diff(want[len(want)-n:], got); d != "" {
			t.Errorf("list after %+v mismatch (-want +got):\n%s", c, d)
		}
	}
	wantAfter(task.Cursor{At: At(3), Key: 1 << 60}, 20)
	wantAfter(task.Cursor{At: At(100), Key: 1}, 23)
	wantAfter(task.Cursor{At: At(0), Key: 0}, 0)
	wantAfter(task.Cursor{At: At(-1), Key: 1 << 60}, 0)
}

func testListFilters(t *testing.T, s task.Store) {
	n := int64(0)
	add := func(id a2a.TaskID, agent task.Agent, context string, state task.State) {
		n++
		h := NewHead("anna", id)
		h.Agent, h.ContextID = agent, context
		es := []task.Entry{Created(At(n), "hello")}
		if state != task.Submitted {
			es = append(es, Status(At(n), state, ""))
		}
		Append(t, s, h, es...)
	}
	add("t1", "echo", "c1", task.Submitted)
	add("t2", "echo", "c1", task.Completed)
	add("t3", "echo", "c2", task.Working)
	add("t4", "clock", "c1", task.Working)
	add("t5", "clock", "c2", task.Completed)
	add("t6", "echo", "c1", task.Completed)
	type q = task.Query
	for _, tt := range []struct {
		q    q
		want []a2a.TaskID
	}{
		{q{}, []a2a.TaskID{"t6", "t5", "t4", "t3", "t2", "t1"}},
		{q{Agent: "echo"}, []a2a.TaskID{"t6", "t3", "t2", "t1"}},
		{q{Agent: "ech"}, nil},
		{q{ContextID: "c1"}, []a2a.TaskID{"t6", "t4", "t2", "t1"}},
		{q{ContextID: "c3"}, nil},
		{q{State: task.Completed}, []a2a.TaskID{"t6", "t5", "t2"}},
		{q{State: task.Failed}, nil},
		{q{Since: At(3)}, []a2a.TaskID{"t6", "t5", "t4", "t3"}},
		{q{Since: At(7)}, nil},
		{q{Agent: "echo", ContextID: "c1"}, []a2a.TaskID{"t6", "t2", "t1"}},
		{q{Agent: "echo", State: task.Completed}, []a2a.TaskID{"t6", "t2"}},
		{q{Agent: "echo", Since: At(2)}, []a2a.TaskID{"t6", "t3", "t2"}},
		{q{ContextID: "c2", State: task.Working}, []a2a.TaskID{"t3"}},
		{q{ContextID: "c1", Since: At(2)}, []a2a.TaskID{"t6", "t4", "t2"}},
		{q{State: task.Completed, Since: At(3)}, []a2a.TaskID{"t6", "t5"}},
		{q{Agent: "echo", ContextID: "c1", State: task.Completed}, []a2a.TaskID{"t6", "t2"}},
		{q{Agent: "echo", ContextID: "c1", State: task.Completed, Since: At(3)}, []a2a.TaskID{"t6"}},
	} {
		tt.q.Owner = "anna"
		wantList(t, s, tt.q, tt.want...)
		tt.q.Limit = 1
		if got := ids(listAll(t, s, tt.q)); diff(tt.want, got) != "" {
			t.Errorf("List(%+v) page by page = %v, want %v", tt.q, got, tt.want)
		}
	}
}

func testListAllOwners(t *testing.T, s task.Store) {
	var heads []task.Head
	for n := range int64(30) {
		h := NewHead(task.Owner(fmt.Sprint("owner", n%13)), a2a.TaskID(fmt.Sprint("t", n)))
		h.Agent = []task.Agent{"echo", "clock"}[n%2]
		es := []task.Entry{Created(At(n/2), "hello")}
		if n%3 == 0 {
			es = append(es, Status(At(n/2), task.Completed, ""))
		}
		heads = append(heads, Append(t, s, h, es...))
	}
	slices.SortFunc(heads, func(a, b task.Head) int {
		return cmp.Or(cmp.Compare(b.StatusAt, a.StatusAt), cmp.Compare(b.Key, a.Key))
	})
	all := ids(heads)
	var echo, done []a2a.TaskID
	for i := range heads {
		if heads[i].Agent == "echo" {
			echo = append(echo, heads[i].ID)
		}
		if heads[i].State == task.Completed {
			done = append(done, heads[i].ID)
		}
	}
	hidden := NewHead("owner0", "hidden")
	hidden.Visibility = task.Hidden
	Append(t, s, hidden, Created(At(99), "hello"))
	for _, tt := range []struct {
		q    task.Query
		want []a2a.TaskID
	}{
		{task.Query{}, all},
		{task.Query{Agent: "echo"}, echo},
		{task.Query{State: task.Completed}, done},
		{task.Query{Since: At(10)}, all[:10]},
		{task.Query{Agent: "nobody"}, nil},
	} {
		tt.q.AllOwners = true
		wantList(t, s, tt.q, tt.want...)
		tt.q.Limit = 4
		if got := ids(listAll(t, s, tt.q)); diff(tt.want, got) != "" {
			t.Errorf("List(%+v) page by page = %v, want %v", tt.q, got, tt.want)
		}
	}
	wantList(t, s, task.Query{}) // no owner is not all owners
	page, err := s.List(t.Context(), &task.Query{AllOwners: true, Limit: 1})
	if err != nil || len(page.Heads) != 1 || page.Heads[0].ID != all[0] {
		t.Errorf("List of all owners = %+v, %v, want the task %s", page, err, all[0])
	}
	for _, q := range []task.Query{{AllOwners: true, Owner: "owner1", Limit: 1}, {AllOwners: true, ContextID: "c", Limit: 1}} {
		if page, err := s.List(t.Context(), &q); err == nil {
			t.Errorf("List(%+v) = %+v, want an error", q, page)
		}
	}
}

func testListHidden(t *testing.T, s task.Store) {
	h := NewHead("anna", "q")
	h.Visibility = task.Hidden
	h = Append(t, s, h, Created(At(1), "hello"))
	wantHead(t, s, h)
	wantList(t, s, task.Query{Owner: "anna"})
	h = Alter(t, s, h, func(h *task.Head) { h.Visibility = task.Visible })
	wantList(t, s, task.Query{Owner: "anna"}, "q")
	wantList(t, s, task.Query{Owner: "anna", Agent: "echo", ContextID: "c", State: task.Submitted}, "q")

	b := NewHead("anna", "b")
	b.Visibility = task.Hidden
	b = Append(t, s, b, Created(At(2), "hello"))
	b = Alter(t, s, b, func(h *task.Head) { h.Visibility = task.Replied })
	wantHead(t, s, b)
	for _, q := range []task.Query{{}, {Agent: "echo"}, {ContextID: "c"}, {State: task.Submitted}, {Since: At(1)}} {
		q.Owner = "anna"
		wantList(t, s, q, "q")
	}
}

// testListTotal wants exact totals of many tasks, and the documented limit for lists with a
// time.
func testListTotal(t *testing.T, s task.Store) {
	const n = task.MaxTotal + 50
	var g errgroup.Group
	g.SetLimit(64)
	for i := range n {
		g.Go(func() error {
			h := NewHead("anna", a2a.TaskID(fmt.Sprint("t", i)))
			h.ContextID = fmt.Sprint("c", i%10)
			h.Agent = task.Agent(fmt.Sprint("agent", i%2))
			c, err := Try(h, Created(At(int64(i)), "hello"))
			if err != nil {
				return err
			}
			return s.Append(t.Context(), c)
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatalf("append: %v", err)
	}
	for _, tt := range []struct {
		q    task.Query
		want int
	}{
		{task.Query{}, n},
		{task.Query{Agent: "agent0"}, n / 2},
		{task.Query{ContextID: "c3"}, n / 10},
		{task.Query{State: task.Submitted}, n},
		{task.Query{State: task.Working}, 0},
		{task.Query{Since: At(n - 100)}, 100},
		{task.Query{Since: At(0)}, task.MaxTotal + 1},
		{task.Query{Since: At(50)}, task.MaxTotal},
		{task.Query{Since: At(49)}, task.MaxTotal + 1},
	} {
		tt.q.Owner, tt.q.Limit = "anna", 3
		page, err := s.List(t.Context(), &tt.q)
		if err != nil || page.Total != tt.want {
			t.Errorf("List(%+v).Total = %d, %v, want %d", tt.q, page.Total, err, tt.want)
		}
	}
}

func testInterrupted(t *testing.T, s task.Store) {
	n := int64(0)
	add := func(id a2a.TaskID, agent task.Agent, context string, state task.State) task.Head {
		n++
		h := NewHead("anna", id)
		h.Agent, h.ContextID = agent, context
		return Append(t, s, h, Created(At(n), "hello"), Status(At(n), state, "?"))
	}
	q := &task.Query{Owner: "anna", Agent: "echo", ContextID: "c1"}
	want := func(id a2a.TaskID) {
		t.Helper()
		h, err := s.Interrupted(t.Context(), q)
		if id == "" {
			if !errors.Is(err, task.ErrNotFound) {
				t.Errorf("Interrupted = %s, %v, want ErrNotFound", h.ID, err)
			}
			return
		}
		if err != nil || h.ID != id {
			t.Fatalf("Interrupted = %s, %v, want %s", h.ID, err, id)
		}
		wantHead(t, s, h)
	}
	want("")
	add("busy", "echo", "c1", task.Working)
	add("other agent", "clock", "c1", task.InputRequired)
	add("other context", "echo", "c2", task.InputRequired)
	want("")
	first := add("input", "echo", "c1", task.InputRequired)
	want("input")
	second := add("auth", "echo", "c1", task.AuthRequired)
	want("auth")
	first = Append(t, s, first, Status(At(50), task.InputRequired, "again?"))
	want("input")
	Append(t, s, first, Status(At(51), task.Working, ""))
	want("auth")
	Append(t, s, second, Status(At(52), task.Completed, ""))
	want("")
}
