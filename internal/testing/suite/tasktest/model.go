package tasktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/internal/task"
)

// testModel applies random operations to a store and to a list of tasks, and compares the
// results.
func testModel(t *testing.T, s task.Store) {
	rapid.Check(t, func(rt *rapid.T) {
		empty(t, s)
		m := &model{t: rt, s: s, now: Epoch, changed: map[string]task.Millis{}}
		rt.Repeat(map[string]func(*rapid.T){
			"create":      m.with(m.several(m.create)),
			"append":      m.with(m.several(m.append)),
			"appendMore":  m.with(m.several(m.append)),
			"appendOld":   m.with(m.appendOld),
			"row":         m.with(m.row),
			"head":        m.with(m.head),
			"read":        m.with(m.read),
			"list":        m.with(m.list),
			"interrupted": m.with(m.interrupted),
			"due":         m.with(m.due),
			"stale":       m.with(m.stale),
			"sweep":       m.with(m.sweep),
		})
	})
}

// empty ends and sweeps all tasks, so that the next round begins with an empty store.
func empty(t *testing.T, s task.Store) {
	t.Helper()
	for _, owner := range modelOwners {
		for i := range modelIDs {
			h, err := s.Head(t.Context(), owner, a2a.TaskID(fmt.Sprint("t", i)))
			if err == nil && h.State.Open() && h.Visibility != task.Replied {
				Append(t, s, h, Status(0, task.Failed, ""))
			}
		}
	}
	for {
		n, err := s.Sweep(t.Context(), At(1<<40), 100)
		if err != nil {
			t.Fatalf("Sweep = %v", err)
		}
		if n == 0 {
			return
		}
	}
}

// model is the simplest possible store.
type model struct {
	t     *rapid.T
	s     task.Store
	now   task.Millis
	tasks []*modelTask
	// changed is the time of each context's last change, including those of deleted tasks.
	changed map[string]task.Millis
}

type modelTask struct {
	head task.Head
	// old is an earlier head.
	old     task.Head
	entries []task.Entry
}

// with lets an action report to the test of its own step.
func (m *model) with(action func()) func(*rapid.T) {
	return func(rt *rapid.T) {
		m.t = rt
		m.now += task.Millis(rapid.IntRange(0, 2).Draw(rt, "later"))
		action()
	}
}

// several repeats an action, so that short runs have enough data.
func (m *model) several(action func()) func() {
	return func() {
		for range rapid.IntRange(1, 6).Draw(m.t, "times") {
			action()
		}
	}
}

func pick[T any](m *model, what string, from ...T) T {
	return rapid.SampledFrom(from).Draw(m.t, what)
}

func contextOf(h *task.Head) string { return fmt.Sprint(h.Owner, "/", h.ContextID) }

// The owners of the model's tasks, and the number of ids of each.
var modelOwners = []task.Owner{"anna", "bert"}

const modelIDs = 16

func (m *model) owner() task.Owner { return pick(m, "owner", modelOwners...) }

func (m *model) id() a2a.TaskID {
	return a2a.TaskID(fmt.Sprint("t", rapid.IntRange(0, modelIDs-1).Draw(m.t, "id")))
}

// any returns a task, or skips the step if there is none.
func (m *model) any() *modelTask {
	if len(m.tasks) == 0 {
		m.t.Skip("no tasks")
	}
	return rapid.SampledFrom(m.tasks).Draw(m.t, "task")
}

func (m *model) find(owner task.Owner, id a2a.TaskID) *modelTask {
	for _, t := range m.tasks {
		if t.head.Owner == owner && t.head.ID == id {
			return t
		}
	}
	return nil
}

func (m *model) create() {
	h := NewHead(m.owner(), m.id())
	h.Agent = pick[task.Agent](m, "agent", "echo", "clock")
	h.ContextID = pick(m, "context", "", "c1", "c2")
	h.Visibility = pick(m, "shown", task.Visible, task.Visible, task.Hidden)
	c, err := Try(h, Created(m.now, "hello"))
	if err != nil {
		m.t.Fatal(err)
	}
	err = m.s.Append(context.Background(), c)
	if m.find(h.Owner, h.ID) != nil {
		m.wantError("Append", err, task.ErrExists)
		return
	}
	m.wantError("Append", err, nil)
	t := &modelTask{}
	m.tasks = append(m.tasks, t)
	m.keep(t, c)
}

func (m *model) keep(t *modelTask, c *task.Change) {
	t.old, t.head = t.head, c.Next
	t.entries = append(t.entries, c.Entries...)
	ctx := contextOf(&t.head)
	m.changed[ctx] = max(m.changed[ctx], t.head.UpdatedAt)
}

func (m *model) wantError(call string, got, want error) {
	if want == nil && got != nil || !errors.Is(got, want) {
		m.t.Fatalf("%s = %v, want %v", call, got, want)
	}
}

// entry returns an entry that a task may or may not accept.
func (m *model) entry() task.Entry {
	switch rapid.IntRange(0, 5).Draw(m.t, "kind") {
	case 0:
		return FollowUp(m.now, "more")
	case 1:
		return Chunk(m.now, "a", "text")
	}
	return Status(m.now, pick(m, "state", task.Working, task.Working, task.InputRequired, task.InputRequired, task.AuthRequired,
		task.Completed, task.Failed, task.Canceled, task.Rejected), pick(m, "message", "", "why"))
}

func (m *model) append() {
	t := m.any()
	if t.head.Visibility == task.Replied {
		return // no further change, so that the task is swept by the time of its answer
	}
	c, err := Try(t.head, m.entry())
	if err != nil {
		return
	}
	if more, err := Try(t.head, c.Entries[0], m.entry()); err == nil {
		c = more
	}
	m.wantError("Append", m.s.Append(context.Background(), c), nil)
	m.keep(t, c)
}

func (m *model) appendOld() {
	t := m.any()
	if t.old.Rev == 0 {
		m.t.Skip("no earlier head")
	}
	c, err := Try(t.old, m.entry())
	if err != nil {
		m.t.Skip("refused")
	}
	m.wantError("Append from an old head", m.s.Append(context.Background(), c), task.ErrConflict)
}

func (m *model) row() {
	t := m.any()
	c, err := Try(t.head)
	if err != nil {
		m.t.Fatal(err)
	}
	c.Next.Visibility = pick(m, "shown", task.Visible, task.Hidden, task.Replied)
	c.Next.Run.Dispatch = pick(m, "dispatch", task.Idle, task.Pending, task.Claimed)
	c.Next.Run.Epoch++
	c.Next.Consumed = c.Next.LastMessage
	m.wantError("Append of a row", m.s.Append(context.Background(), c), nil)
	m.keep(t, c)
}

func (m *model) head() {
	owner, id := m.owner(), m.id()
	got, err := m.s.Head(context.Background(), owner, id)
	t := m.find(owner, id)
	if t == nil {
		m.wantError("Head", err, task.ErrNotFound)
		return
	}
	m.wantError("Head", err, nil)
	m.wantSame("Head", t.head, got)
}

func (m *model) wantSame(call string, want, got any) {
	if d := diff(want, got); d != "" {
		m.t.Fatalf("%s mismatch (-want +got):\n%s", call, d)
	}
}

func (m *model) read() {
	t := m.any()
	after := rapid.IntRange(0, len(t.entries)).Draw(m.t, "after")
	got, err := m.s.Read(context.Background(), t.head.Key, int64(after))
	m.wantError("Read", err, nil)
	m.wantSame("Read", t.entries[after:], got)
}

func (m *model) list() {
	q := task.Query{
		Owner:     m.owner(),
		Agent:     pick[task.Agent](m, "agent", "", "echo", "clock"),
		ContextID: pick(m, "context", "", "c1", "c2"),
		State:     pick(m, "state", task.Unspecified, task.Submitted, task.Working, task.Completed),
		Since:     pick(m, "since", 0, Epoch+5, m.now),
		Limit:     rapid.IntRange(1, 5).Draw(m.t, "limit"),
	}
	want := m.matching(func(h *task.Head) bool {
		return h.Visibility == task.Visible && matches(h, &q) && h.StatusAt >= q.Since &&
			(q.State == task.Unspecified || q.State == h.State)
	})
	var got []task.Head
	for {
		page, err := m.s.List(context.Background(), &q)
		m.wantError("List", err, nil)
		if page.Total != len(want) {
			m.t.Fatalf("List(%+v).Total = %d, want %d", q, page.Total, len(want))
		}
		got = append(got, page.Heads...)
		if !page.More {
			break
		}
		last := &got[len(got)-1]
		q.After = task.Cursor{At: last.StatusAt, Key: last.Key}
	}
	m.wantSame("List", want, got)
}

func matches(h *task.Head, q *task.Query) bool {
	return h.Owner == q.Owner && (q.Agent == "" || h.Agent == q.Agent) &&
		(q.ContextID == "" || h.ContextID == q.ContextID)
}

// matching returns the matching heads in the order of lists.
func (m *model) matching(match func(*task.Head) bool) []task.Head {
	var heads []task.Head
	for _, t := range m.tasks {
		if match(&t.head) {
			heads = append(heads, t.head)
		}
	}
	slices.SortFunc(heads, func(a, b task.Head) int {
		return cmp.Or(cmp.Compare(b.StatusAt, a.StatusAt), cmp.Compare(b.Key, a.Key))
	})
	return heads
}

func (m *model) interrupted() {
	q := &task.Query{
		Owner: m.owner(), Agent: pick[task.Agent](m, "agent", "echo", "clock"),
		ContextID: pick(m, "context", "c1", "c2"),
	}
	want := m.matching(func(h *task.Head) bool {
		return h.Visibility == task.Visible && matches(h, q) && h.State.Interrupted()
	})
	got, err := m.s.Interrupted(context.Background(), q)
	if len(want) == 0 {
		m.wantError("Interrupted", err, task.ErrNotFound)
		return
	}
	m.wantError("Interrupted", err, nil)
	m.wantSame("Interrupted", want[0], got)
}

func (m *model) due() {
	want := m.matching(func(h *task.Head) bool { return h.Due() })
	slices.SortFunc(want, func(a, b task.Head) int { return cmp.Compare(a.Key, b.Key) })
	var got []task.Head
	for after := task.Key(0); ; after = got[len(got)-1].Key {
		page, err := m.s.Due(context.Background(), after, 3)
		m.wantError("Due", err, nil)
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
	}
	m.wantSame("Due", want, got)
}

// stale allows for a store that forgets the changes of deleted tasks.
func (m *model) stale() {
	before := pick(m, "before", m.now, m.now+1, Epoch+5)
	heads, err := m.s.Stale(context.Background(), before, 1000)
	m.wantError("Stale", err, nil)
	got := map[task.Key]bool{}
	for i := range heads {
		got[heads[i].Key] = true
	}
	for _, t := range m.tasks {
		h := &t.head
		may := h.State.Interrupted() && h.Run.Dispatch == task.Idle && h.Visibility != task.Replied &&
			m.lastChange(h) < before
		must := may && (h.ContextID == "" || m.changed[contextOf(h)] < before)
		if got[h.Key] && !may || must && !got[h.Key] {
			m.t.Fatalf("Stale(%d) has task %d: %v, want %v", before, h.Key, got[h.Key], must)
		}
		delete(got, h.Key)
	}
	if len(got) > 0 {
		m.t.Fatalf("Stale(%d) has unknown tasks: %v", before, got)
	}
}

// lastChange returns the time of the newest change among the tasks that share a context with h.
func (m *model) lastChange(h *task.Head) task.Millis {
	last := h.UpdatedAt
	for _, t := range m.tasks {
		if h.ContextID != "" && contextOf(&t.head) == contextOf(h) {
			last = max(last, t.head.UpdatedAt)
		}
	}
	return last
}

func (m *model) sweep() {
	before := pick(m, "before", m.now, m.now+1, Epoch+5)
	want := 0
	var left, gone []*modelTask
	for _, t := range m.tasks {
		if (t.head.State.Terminal() || t.head.Visibility == task.Replied) && t.head.UpdatedAt < before {
			want++
			gone = append(gone, t)
		} else {
			left = append(left, t)
		}
	}
	got, err := m.s.Sweep(context.Background(), before, 1000)
	m.wantError("Sweep", err, nil)
	if got != want {
		m.t.Fatalf("Sweep(%d) = %d, want %d", before, got, want)
	}
	for _, t := range gone {
		_, err := m.s.Read(context.Background(), t.head.Key, 0)
		m.wantError("Read of a swept task", err, task.ErrNotFound)
	}
	m.tasks = left
}
