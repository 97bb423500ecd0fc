package task

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Memory is a store that keeps tasks in memory and loses them with the process.
// The zero Memory is empty and ready to use. It must not be copied.
//
// Finding a task costs the same however many there are, a page of a list costs what
// is on the page. Memory keeps every task until it is swept. A task that has ended is
// kept encoded, so that it takes less room and the garbage collector need not look at
// it; to change it again costs what its log is long.
type Memory struct {
	mu sync.RWMutex // guards everything below; never held while calling out

	lastKey Key
	// open are the tasks that have not ended, packed the others.
	open   map[Key]*record
	packed attic
	packer packer
	// snapshots are those of the tasks that have one.
	snapshots map[Key]Snapshot

	ids    roster
	owners map[Owner]*shelf
	// alone are the contexts that have one task, threads those that have more.
	alone   roster
	threads map[contextID]*thread

	// due holds the keys of tasks that are due, asking those that are interrupted and have
	// no run by the time of their status, ended those that may be swept by the time
	// of their last entry.
	due, asking, ended order

	hooks       hookBook
	requests    requestBook
	aliases     aliasBook
	checkpoints map[Key][]byte
	journals    journals
	kin         kinship
	marks       markBook
}

var (
	_ Store     = (*Memory)(nil)
	_ Snapshots = (*Memory)(nil)
	_ Finder    = (*Memory)(nil)
)

type contextID struct {
	owner Owner
	id    string
}

type record struct {
	head    Head
	entries []Entry
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
	if c.Hook != nil && c.Hook.ID == "" {
		return fmt.Errorf("append %s: %w", c.Next.ID, errHookID)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.recordLocked(c)
	if err != nil {
		return fmt.Errorf("append %s at rev %d: %w", c.Next.ID, c.Prev.Rev, err)
	}
	m.indexLocked(&r.head, &c.Next)
	r.head = c.Next
	m.extrasLocked(c)
	if r.head.ended() {
		m.packed.put(r.head.Key, m.packer.pack(r, c.Entries))
		delete(m.open, r.head.Key)
		return nil
	}
	if r.entries == nil {
		r.entries = c.Entries[:len(c.Entries):len(c.Entries)]
	} else {
		r.entries = append(r.entries, c.Entries...)
	}
	return nil
}

// ended reports whether a task has come to its end and waits for the sweeper.
func (h *Head) ended() bool { return h.State.Terminal() || h.Shown == Answered }

// recordLocked returns the record that c changes, or makes it.
func (m *Memory) recordLocked(c *Change) (*record, error) {
	if l := c.Lineage; l != nil && (c.Prev.Rev != 0 || l.Parent == 0) {
		return nil, errLineage
	}
	if r := c.Request; r != nil && r.Key == "" {
		return nil, errRequestKey
	} else if r != nil && m.requests.used(c) {
		return nil, ErrKeyUsed
	}
	if c.Prev.Rev == 0 {
		return m.createLocked(c)
	}
	key := c.Prev.Key
	if r := m.open[key]; r != nil {
		if r.head.Rev != c.Prev.Rev {
			return nil, ErrConflict
		}
		return r, nil
	}
	if h, err := m.headLocked(key); err != nil || h.Rev != c.Prev.Rev {
		return nil, ErrConflict
	}
	b, _ := m.packed.get(key)
	r, err := unpack(key, b)
	if err != nil {
		return nil, err
	}
	m.packed.remove(key)
	m.open[key] = r
	return r, nil
}

func (m *Memory) createLocked(c *Change) (*record, error) {
	if m.open == nil {
		m.open = make(map[Key]*record)
		m.owners = make(map[Owner]*shelf)
		m.threads = make(map[contextID]*thread)
		m.snapshots = make(map[Key]Snapshot)
	}
	owner, id := c.Next.Owner, c.Next.ID
	if key, _ := m.findLocked(owner, id); key != 0 {
		return nil, ErrExists
	}
	m.lastKey++
	c.Next.Key = m.lastKey
	r := &record{}
	m.open[c.Next.Key] = r
	m.ids.add(string(owner), string(id), c.Next.Key)
	m.joinLocked(&c.Next)
	return r, nil
}

// findLocked returns the key and the head of a task; the key is zero if there is none.
func (m *Memory) findLocked(owner Owner, id a2a.TaskID) (Key, Head) {
	return m.lookLocked(&m.ids, string(owner), string(id), func(h Head) bool {
		return h.Owner == owner && h.ID == id
	})
}

// aloneLocked returns the key and the head of the one task of a context; the key is
// zero if there is none or there are more.
func (m *Memory) aloneLocked(owner Owner, context string) (Key, Head) {
	return m.lookLocked(&m.alone, string(owner), context, func(h Head) bool {
		return h.Owner == owner && h.ContextID == context
	})
}

func (m *Memory) lookLocked(r *roster, a, b string, has func(Head) bool) (Key, Head) {
	var h Head
	key := r.find(a, b, func(key Key) bool {
		h, _ = m.headLocked(key)
		return has(h)
	})
	if key != h.Key {
		h, _ = m.headLocked(key)
	}
	return key, h
}

// headLocked returns the head of a task.
func (m *Memory) headLocked(key Key) (Head, error) {
	if r := m.open[key]; r != nil {
		return r.head, nil
	}
	b, ok := m.packed.get(key)
	if !ok {
		return Head{}, ErrNotFound
	}
	return packedHead(key, b)
}

// joinLocked adds a new task to its context.
func (m *Memory) joinLocked(h *Head) {
	if h.ContextID == "" {
		return
	}
	id := contextID{h.Owner, h.ContextID}
	t := m.threads[id]
	if t == nil {
		key, first := m.aloneLocked(h.Owner, h.ContextID)
		if key == 0 {
			m.alone.add(string(h.Owner), h.ContextID, h.Key)
			return
		}
		m.alone.remove(string(h.Owner), h.ContextID, key)
		t = &thread{tasks: 1, changedAt: first.UpdatedAt}
		t.move(slot{}, slotOf(&first))
		m.threads[id] = t
	}
	t.tasks++
}

// quitLocked takes a task out of its context.
func (m *Memory) quitLocked(h *Head) {
	id := contextID{h.Owner, h.ContextID}
	t := m.threads[id]
	if t == nil {
		m.alone.remove(string(h.Owner), h.ContextID, h.Key)
		return
	}
	if t.tasks--; t.tasks == 0 {
		delete(m.threads, id)
	}
}

// indexLocked moves a task from where its head is found to where next is found. The
// zero head is found nowhere; one of them is that when the task is made or deleted.
func (m *Memory) indexLocked(head, next *Head) {
	m.due.move(dueAt(head), dueAt(next))
	m.asking.move(askingAt(head), askingAt(next))
	m.ended.move(endedAt(head), endedAt(next))
	either := next
	if next.Key == 0 {
		either = head
	}
	was, is := slotOf(head), slotOf(next)
	if len(m.threads) > 0 {
		if t := m.threads[contextID{either.Owner, either.ContextID}]; t != nil {
			t.changedAt = max(t.changedAt, next.UpdatedAt)
			t.move(was, is)
		}
	}
	if was == is {
		return
	}
	s := m.owners[either.Owner]
	if s == nil {
		s = &shelf{}
		m.owners[either.Owner] = s
	}
	if s.move(was, is); len(*s) == 0 {
		delete(m.owners, either.Owner)
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
	if !h.ended() {
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
	key, h := m.findLocked(owner, id)
	if key == 0 {
		return Head{}, fmt.Errorf("head %s: %w", id, ErrNotFound)
	}
	return h, nil
}

// The size of a page of entries.
const (
	pageEntries = 256
	pageBytes   = 1 << 20
)

// Find implements Finder.
func (m *Memory) Find(ctx context.Context, id a2a.TaskID) ([]Head, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("find %s: %w", id, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var found []Head
	for _, owner := range slices.Sorted(maps.Keys(m.owners)) {
		if key, h := m.findLocked(owner, id); key != 0 {
			found = append(found, h)
		}
	}
	return found, nil
}

// Read implements Log. The entries share memory with the store.
func (m *Memory) Read(ctx context.Context, key Key, after int64) ([]Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read task %d: %w", key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if r := m.open[key]; r != nil {
		rest := r.entries[min(max(after, 0), int64(len(r.entries))):]
		n := pageOf(rest, pageEntries, pageBytes)
		return rest[:n:n], nil
	}
	b, ok := m.packed.get(key)
	if !ok {
		return nil, fmt.Errorf("read task %d: %w", key, ErrNotFound)
	}
	page, err := readSegments(packedSegments(b), after)
	if err != nil {
		return nil, fmt.Errorf("read task %d: %w", key, err)
	}
	return page, nil
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
	var err error
	merge(orders, q.After, func(c Cursor) bool {
		if c.At < q.Since {
			return false
		}
		if len(page.Heads) == q.Limit {
			page.More = true
			return false
		}
		var h Head
		h, err = m.headLocked(c.Key)
		page.Heads = append(page.Heads, h)
		return err == nil
	})
	if err != nil {
		return ListPage{}, fmt.Errorf("list tasks: %w", err)
	}
	return page, nil
}

// shelfLocked returns the narrowest shelf that has all tasks of q.
func (m *Memory) shelfLocked(q *Query) shelf {
	if q.ContextID != "" {
		if t := m.threads[contextID{q.Owner, q.ContextID}]; t != nil {
			return t.shelf
		}
		var s shelf
		if key, h := m.aloneLocked(q.Owner, q.ContextID); key != 0 {
			s.move(slot{}, slotOf(&h))
		}
		return s
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
	// An interrupted task has not ended.
	var found *record
	merge(orders, Cursor{}, func(c Cursor) bool {
		found = m.open[c.Key]
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
		heads = append(heads, m.open[c.Key].head)
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
		r := m.open[c.Key]
		changed := r.head.UpdatedAt
		if t := m.threads[contextID{r.head.Owner, r.head.ContextID}]; t != nil {
			changed = t.changedAt
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
	for i, key := range keys {
		if err := m.deleteLocked(key); err != nil {
			return i, fmt.Errorf("sweep task %d: %w", key, err)
		}
	}
	return len(keys), nil
}

func (m *Memory) deleteLocked(key Key) error {
	h, err := m.headLocked(key)
	if err != nil {
		return err
	}
	m.indexLocked(&h, &Head{})
	m.quitLocked(&h)
	m.ids.remove(string(h.Owner), string(h.ID), key)
	m.packed.remove(key)
	delete(m.snapshots, key)
	m.hooks.forget(key)
	m.requests.forget(key)
	m.aliases.forget(key)
	delete(m.checkpoints, key)
	delete(m.journals, key)
	m.kin.forget(key)
	m.marks.forget(key)
	return nil
}

// Snapshot implements Snapshots.
func (m *Memory) Snapshot(ctx context.Context, key Key) (Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return Snapshot{}, fmt.Errorf("snapshot of task %d: %w", key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.snapshots[key], nil
}

// SaveSnapshot implements Snapshots.
func (m *Memory) SaveSnapshot(ctx context.Context, key Key, s Snapshot) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("save snapshot of task %d: %w", key, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	there := m.open[key] != nil || m.packed.has(key)
	if there && s.Version > m.snapshots[key].Version {
		m.snapshots[key] = Snapshot{Version: s.Version, Data: slices.Clone(s.Data)}
	}
	return nil
}
