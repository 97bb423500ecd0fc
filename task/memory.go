package task

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Memory is a store that keeps tasks in memory and loses them with the process.
// The zero Memory is empty and ready to use. It must not be copied.
//
// Finding a task costs the same however many there are, a page of a list costs what
// is on the page. Memory keeps every task until it is swept.
type Memory struct {
	mu sync.RWMutex // guards everything below; never held while calling out

	lastKey  Key
	tasks    map[Key]*record
	ids      map[wireID]*record
	owners   map[Owner]*shelf
	contexts map[contextID]*thread

	// due holds the keys of tasks that are due, asking those that are interrupted and have
	// no run by the time of their status, ended those that may be swept by the time
	// of their last entry.
	due, asking, ended order
}

var (
	_ Store     = (*Memory)(nil)
	_ Snapshots = (*Memory)(nil)
)

type wireID struct {
	owner Owner
	id    a2a.TaskID
}

type contextID struct {
	owner Owner
	id    string
}

type record struct {
	head     Head
	entries  []Entry
	snapshot Snapshot
	// thread is nil for a task without a context.
	thread *thread
}

// thread is a context: all tasks of an owner that share a context id.
type thread struct {
	shelf
	// tasks counts its tasks, listed or not.
	tasks     int
	changedAt Millis
}

// Append implements Log.
func (m *Memory) Append(ctx context.Context, c *Change) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("append %s: %w", c.Next.ID, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.recordLocked(c)
	if err != nil {
		return fmt.Errorf("append %s at rev %d: %w", c.Next.ID, c.Prev.Rev, err)
	}
	r.entries = append(r.entries, c.Entries...)
	if r.thread != nil {
		r.thread.changedAt = max(r.thread.changedAt, c.Next.UpdatedAt)
	}
	m.indexLocked(r, &c.Next)
	r.head = c.Next
	return nil
}

// recordLocked returns the record that c changes, or makes it.
func (m *Memory) recordLocked(c *Change) (*record, error) {
	if c.Prev.Rev == 0 {
		return m.createLocked(c)
	}
	r := m.tasks[c.Prev.Key]
	if r == nil || r.head.Rev != c.Prev.Rev {
		return nil, ErrConflict
	}
	return r, nil
}

func (m *Memory) createLocked(c *Change) (*record, error) {
	id := wireID{c.Next.Owner, c.Next.ID}
	if m.ids[id] != nil {
		return nil, ErrExists
	}
	if m.tasks == nil {
		m.tasks = make(map[Key]*record)
		m.ids = make(map[wireID]*record)
		m.owners = make(map[Owner]*shelf)
		m.contexts = make(map[contextID]*thread)
	}
	m.lastKey++
	c.Next.Key = m.lastKey
	r := &record{thread: m.threadLocked(&c.Next)}
	m.tasks[c.Next.Key], m.ids[id] = r, r
	return r, nil
}

// threadLocked returns the context of a new task.
func (m *Memory) threadLocked(h *Head) *thread {
	if h.ContextID == "" {
		return nil
	}
	id := contextID{h.Owner, h.ContextID}
	t := m.contexts[id]
	if t == nil {
		t = &thread{}
		m.contexts[id] = t
	}
	t.tasks++
	return t
}

// indexLocked moves r from where its head is found to where next is found. The
// zero head is found nowhere.
func (m *Memory) indexLocked(r *record, next *Head) {
	m.due.move(dueAt(&r.head), dueAt(next))
	m.asking.move(askingAt(&r.head), askingAt(next))
	m.ended.move(endedAt(&r.head), endedAt(next))
	was, is := slotOf(&r.head), slotOf(next)
	if was == is {
		return
	}
	if r.thread != nil {
		r.thread.move(was, is)
	}
	// One of them is empty when the task is made or deleted.
	owner := max(r.head.Owner, next.Owner)
	s := m.owners[owner]
	if s == nil {
		s = &shelf{}
		m.owners[owner] = s
	}
	if s.move(was, is); len(*s) == 0 {
		delete(m.owners, owner)
	}
}

func dueAt(h *Head) Cursor {
	if !h.Due() {
		return Cursor{}
	}
	return Cursor{Key: h.Key}
}

func askingAt(h *Head) Cursor {
	if !h.State.Interrupted() || h.Shown == Answered || h.Run.Dispatch != Idle {
		return Cursor{}
	}
	return Cursor{h.StatusAt, h.Key}
}

func endedAt(h *Head) Cursor {
	if !h.State.Terminal() && h.Shown != Answered {
		return Cursor{}
	}
	return Cursor{h.UpdatedAt, h.Key}
}

// Head implements Log.
func (m *Memory) Head(ctx context.Context, owner Owner, id a2a.TaskID) (Head, error) {
	if err := ctx.Err(); err != nil {
		return Head{}, fmt.Errorf("head %s: %w", id, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	r := m.ids[wireID{owner, id}]
	if r == nil {
		return Head{}, fmt.Errorf("head %s: %w", id, ErrNotFound)
	}
	return r.head, nil
}

// The size of a page of entries.
const (
	pageEntries = 256
	pageBytes   = 1 << 20
)

// Read implements Log. The entries share memory with the store.
func (m *Memory) Read(ctx context.Context, key Key, after int64) ([]Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read task %d: %w", key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	r := m.tasks[key]
	if r == nil {
		return nil, fmt.Errorf("read task %d: %w", key, ErrNotFound)
	}
	from := min(max(after, 0), int64(len(r.entries)))
	rest := r.entries[from:]
	n, size := 0, 0
	for n < len(rest) && n < pageEntries && (n == 0 || size < pageBytes) {
		size += len(rest[n].Body) + len(rest[n].Meta) + len(rest[n].Call)
		n++
	}
	return rest[:n:n], nil
}

// anyState matches every state.
const anyState = ^stateSet(0)

// List implements Index.
func (m *Memory) List(ctx context.Context, q *Query) (ListPage, error) {
	if err := ctx.Err(); err != nil {
		return ListPage{}, fmt.Errorf("list tasks: %w", err)
	}
	states := anyState
	if q.State != Unspecified {
		states = setOf(q.State)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	orders := m.shelfLocked(q).choose(q.Agent, states)
	page := ListPage{Total: total(orders, q.Since)}
	page.Heads = make([]Head, 0, min(page.Total, q.Limit))
	merge(orders, q.After, func(c Cursor) bool {
		if c.At < q.Since {
			return false
		}
		if len(page.Heads) == q.Limit {
			page.More = true
			return false
		}
		page.Heads = append(page.Heads, m.tasks[c.Key].head)
		return true
	})
	return page, nil
}

// shelfLocked returns the narrowest shelf that has all tasks of q.
func (m *Memory) shelfLocked(q *Query) shelf {
	if q.ContextID != "" {
		if t := m.contexts[contextID{q.Owner, q.ContextID}]; t != nil {
			return t.shelf
		}
		return nil
	}
	if s := m.owners[q.Owner]; s != nil {
		return *s
	}
	return nil
}

// Interrupted implements Index.
func (m *Memory) Interrupted(ctx context.Context, q *Query) (Head, error) {
	if err := ctx.Err(); err != nil {
		return Head{}, fmt.Errorf("find interrupted task: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	orders := m.shelfLocked(q).choose(q.Agent, setOf(InputRequired, AuthRequired))
	var found *record
	merge(orders, Cursor{}, func(c Cursor) bool {
		found = m.tasks[c.Key]
		return false
	})
	if found == nil {
		return Head{}, fmt.Errorf("find interrupted task of context %s: %w", q.ContextID, ErrNotFound)
	}
	return found.head, nil
}

// Due implements Work.
func (m *Memory) Due(ctx context.Context, after Key, limit int) ([]Head, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("due tasks: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var heads []Head
	m.due.ascend(Cursor{Key: after}, func(c Cursor) bool {
		if len(heads) >= limit {
			return false
		}
		heads = append(heads, m.tasks[c.Key].head)
		return true
	})
	return heads, nil
}

// Stale implements Work.
func (m *Memory) Stale(ctx context.Context, before Millis, limit int) ([]Head, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("stale tasks: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var heads []Head
	m.asking.ascend(Cursor{}, func(c Cursor) bool {
		if len(heads) >= limit || c.At >= before {
			return false
		}
		r := m.tasks[c.Key]
		changed := r.head.UpdatedAt
		if r.thread != nil {
			changed = r.thread.changedAt
		}
		if changed < before {
			heads = append(heads, r.head)
		}
		return true
	})
	return heads, nil
}

// Sweep implements Sweeper.
func (m *Memory) Sweep(ctx context.Context, before Millis, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("sweep tasks: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []Key
	m.ended.ascend(Cursor{}, func(c Cursor) bool {
		if len(keys) >= limit || c.At >= before {
			return false
		}
		keys = append(keys, c.Key)
		return true
	})
	for _, key := range keys {
		m.deleteLocked(key)
	}
	return len(keys), nil
}

func (m *Memory) deleteLocked(key Key) {
	r := m.tasks[key]
	m.indexLocked(r, &Head{})
	if r.thread != nil {
		if r.thread.tasks--; r.thread.tasks == 0 {
			delete(m.contexts, contextID{r.head.Owner, r.head.ContextID})
		}
	}
	delete(m.ids, wireID{r.head.Owner, r.head.ID})
	delete(m.tasks, key)
}

// Snapshot implements Snapshots.
func (m *Memory) Snapshot(ctx context.Context, key Key) (Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return Snapshot{}, fmt.Errorf("snapshot of task %d: %w", key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if r := m.tasks[key]; r != nil {
		return r.snapshot, nil
	}
	return Snapshot{}, nil
}

// SaveSnapshot implements Snapshots.
func (m *Memory) SaveSnapshot(ctx context.Context, key Key, s Snapshot) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("save snapshot of task %d: %w", key, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.tasks[key]; r != nil && s.Version > r.snapshot.Version {
		r.snapshot = Snapshot{Version: s.Version, Data: slices.Clone(s.Data)}
	}
	return nil
}
