package memstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/task"
)

// Store keeps tasks in memory and loses them with the process. The zero Store is empty and
// ready to use. It must not be copied.
//
// The cost of finding a task does not depend on the number of tasks, and that of a page of a
// list only on its length. A task is kept until it is swept. A task that has ended is kept
// encoded; to change it again costs in proportion to its log.
type Store struct {
	mu sync.RWMutex // guards all fields below; never held during calls to other packages' code

	lastKey task.Key
	// open are the tasks that have not ended, packed all others.
	open   map[task.Key]*record
	packed arena
	packer packer
	// snapshots are those of the tasks that have one.
	snapshots map[task.Key]task.Snapshot

	ids    nameIndex
	owners map[task.Owner]*listing
	// singles maps contexts with a single task, threads those with several.
	singles nameIndex
	threads map[contextID]*thread

	// due holds the keys of tasks that are due. asking holds those that are interrupted and
	// have no run, by the time of their status. ended holds those that may be swept, by the
	// time of their last entry.
	due, interrupted, ended sortedSet

	hooks    hookTable
	requests requestTable
	aliases  aliasTable
	journals journalTable
	sidecars sidecarTable
	timeline timeline
}

var _ task.Store = (*Store)(nil)

type contextID struct {
	owner task.Owner
	id    string
}

type record struct {
	head    task.Head
	entries []task.Entry
}

// thread is a context: all tasks of an owner that share a context id.
type thread struct {
	listing
	// tasks counts its tasks, listed or not.
	tasks     int
	changedAt task.Millis
}

// Append implements task.Log.
func (m *Store) Append(ctx context.Context, c *task.Change) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("append %s: %w", c.Next.ID, err)
	}
	if err := c.Check(); err != nil {
		return fmt.Errorf("append %s at rev %d: %w", c.Next.ID, c.Prev.Rev, err)
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
	m.timeline.addChange(c)
	if r.head.Ended() {
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

// recordLocked returns the record that c changes, or creates it.
func (m *Store) recordLocked(c *task.Change) (*record, error) {
	if c.Request != nil && m.requests.used(c) {
		return nil, task.ErrKeyUsed
	}
	if c.Prev.Rev == 0 {
		return m.createLocked(c)
	}
	key := c.Prev.Key
	if r := m.open[key]; r != nil {
		if r.head.Rev != c.Prev.Rev {
			return nil, task.ErrConflict
		}
		return r, nil
	}
	if h, err := m.headLocked(key); err != nil || h.Rev != c.Prev.Rev {
		return nil, task.ErrConflict
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

func (m *Store) createLocked(c *task.Change) (*record, error) {
	if m.open == nil {
		m.open = make(map[task.Key]*record)
		m.owners = make(map[task.Owner]*listing)
		m.threads = make(map[contextID]*thread)
		m.snapshots = make(map[task.Key]task.Snapshot)
	}
	owner, id := c.Next.Owner, c.Next.ID
	if key, _ := m.findLocked(owner, id); key != 0 {
		return nil, task.ErrExists
	}
	m.lastKey++
	c.Next.Key = m.lastKey
	r := &record{}
	m.open[c.Next.Key] = r
	m.ids.add(string(owner), string(id), c.Next.Key)
	m.joinContextLocked(&c.Next)
	return r, nil
}

// findLocked returns the key and the head of a task; the key is zero if it does not exist.
func (m *Store) findLocked(owner task.Owner, id a2a.TaskID) (task.Key, task.Head) {
	return m.lookUpLocked(&m.ids, string(owner), string(id), func(h task.Head) bool {
		return h.Owner == owner && h.ID == id
	})
}

// singleLocked returns the key and the head of the single task of a context; the key is zero if
// the context has no task or several.
func (m *Store) singleLocked(owner task.Owner, context string) (task.Key, task.Head) {
	return m.lookUpLocked(&m.singles, string(owner), context, func(h task.Head) bool {
		return h.Owner == owner && h.ContextID == context
	})
}

func (m *Store) lookUpLocked(r *nameIndex, a, b string, has func(task.Head) bool) (task.Key, task.Head) {
	var h task.Head
	key := r.find(a, b, func(key task.Key) bool {
		h, _ = m.headLocked(key)
		return has(h)
	})
	if key != h.Key {
		h, _ = m.headLocked(key)
	}
	return key, h
}

// headLocked returns the head of a task.
func (m *Store) headLocked(key task.Key) (task.Head, error) {
	if r := m.open[key]; r != nil {
		return r.head, nil
	}
	b, ok := m.packed.get(key)
	if !ok {
		return task.Head{}, task.ErrNotFound
	}
	return packedHead(key, b)
}

// joinContextLocked adds a new task to its context.
func (m *Store) joinContextLocked(h *task.Head) {
	if h.ContextID == "" {
		return
	}
	id := contextID{h.Owner, h.ContextID}
	t := m.threads[id]
	if t == nil {
		key, first := m.singleLocked(h.Owner, h.ContextID)
		if key == 0 {
			m.singles.add(string(h.Owner), h.ContextID, h.Key)
			return
		}
		m.singles.remove(string(h.Owner), h.ContextID, key)
		t = &thread{tasks: 1, changedAt: first.UpdatedAt}
		t.move(listKey{}, listKeyOf(&first))
		m.threads[id] = t
	}
	t.tasks++
}

// leaveContextLocked removes a task from its context.
func (m *Store) leaveContextLocked(h *task.Head) {
	id := contextID{h.Owner, h.ContextID}
	t := m.threads[id]
	if t == nil {
		m.singles.remove(string(h.Owner), h.ContextID, h.Key)
		return
	}
	if t.tasks--; t.tasks == 0 {
		delete(m.threads, id)
	}
}

// indexLocked moves a task in the indexes from the positions of head to those of next. The zero
// head has no positions: it is passed when the task is created or deleted.
func (m *Store) indexLocked(head, next *task.Head) {
	m.due.move(dueAt(head), dueAt(next))
	m.interrupted.move(interruptedAt(head), interruptedAt(next))
	m.ended.move(endedAt(head), endedAt(next))
	either := next
	if next.Key == 0 {
		either = head
	}
	was, is := listKeyOf(head), listKeyOf(next)
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
		s = &listing{}
		m.owners[either.Owner] = s
	}
	if s.move(was, is); len(*s) == 0 {
		delete(m.owners, either.Owner)
	}
}

func dueAt(h *task.Head) task.Cursor {
	if !h.Due() {
		return task.Cursor{}
	}
	return task.Cursor{Key: h.Key}
}

func interruptedAt(h *task.Head) task.Cursor {
	if !h.State.Interrupted() || h.Visibility == task.Replied || h.Run.Dispatch != task.Idle {
		return task.Cursor{}
	}
	return task.Cursor{At: h.StatusAt, Key: h.Key}
}

func endedAt(h *task.Head) task.Cursor {
	if !h.Ended() {
		return task.Cursor{}
	}
	return task.Cursor{At: h.UpdatedAt, Key: h.Key}
}

// extrasLocked stores the data beside a stored change.
func (m *Store) extrasLocked(c *task.Change) {
	if c.Hook != nil {
		m.hookLocked(c)
	}
	if c.Request != nil {
		m.requests.put(c)
	}
	if c.Alias != "" {
		m.aliases.put(c)
	}
	m.journals.put(c)
	m.sidecars.put(c)
}

// Head implements task.Log.
func (m *Store) Head(ctx context.Context, owner task.Owner, id a2a.TaskID) (task.Head, error) {
	if err := ctx.Err(); err != nil {
		return task.Head{}, fmt.Errorf("head %s: %w", id, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	key, h := m.findLocked(owner, id)
	if key == 0 {
		return task.Head{}, fmt.Errorf("head %s: %w", id, task.ErrNotFound)
	}
	return h, nil
}

// The size of a page of entries.
const (
	pageEntries = 256
	pageBytes   = 1 << 20
)

// Find implements task.Finder.
func (m *Store) Find(ctx context.Context, id a2a.TaskID) ([]task.Head, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("find %s: %w", id, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var found []task.Head
	for _, owner := range slices.Sorted(maps.Keys(m.owners)) {
		if key, h := m.findLocked(owner, id); key != 0 {
			found = append(found, h)
		}
	}
	return found, nil
}

// Read implements task.Log. The entries share memory with the store.
func (m *Store) Read(ctx context.Context, key task.Key, after int64) ([]task.Entry, error) {
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
		return nil, fmt.Errorf("read task %d: %w", key, task.ErrNotFound)
	}
	page, err := readSegments(packedSegments(b), after)
	if err != nil {
		return nil, fmt.Errorf("read task %d: %w", key, err)
	}
	return page, nil
}

// List implements task.Index.
func (m *Store) List(ctx context.Context, q *task.Query) (task.ListPage, error) {
	if err := errors.Join(ctx.Err(), q.Check()); err != nil {
		return task.ListPage{}, fmt.Errorf("list tasks: %w", err)
	}
	var match func(task.State) bool
	if q.State != task.Unspecified {
		match = func(s task.State) bool { return s == q.State }
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	sets := m.setsLocked(q, match)
	if q.IDPrefix != "" {
		return m.listIDsLocked(q, sets)
	}
	page := task.ListPage{Total: total(sets, q.Since)}
	page.Heads = make([]task.Head, 0, min(page.Total, q.Limit))
	var err error
	merge(sets, q.After, func(c task.Cursor) bool {
		if c.At < q.Since {
			return false
		}
		if len(page.Heads) == q.Limit {
			page.More = true
			return false
		}
		var h task.Head
		h, err = m.headLocked(c.Key)
		page.Heads = append(page.Heads, h)
		return err == nil
	})
	if err != nil {
		return task.ListPage{}, fmt.Errorf("list tasks: %w", err)
	}
	return page, nil
}

// setsLocked returns the sets that contain the tasks of q.
func (m *Store) setsLocked(q *task.Query, match func(task.State) bool) []*sortedSet {
	if !q.AllOwners {
		return m.listingLocked(q).choose(q.Agent, match)
	}
	var sets []*sortedSet
	for _, s := range m.owners {
		sets = append(sets, s.choose(q.Agent, match)...)
	}
	return sets
}

// listingLocked returns the smallest listing that contains all tasks of q.
func (m *Store) listingLocked(q *task.Query) listing {
	if q.ContextID != "" {
		if t := m.threads[contextID{q.Owner, q.ContextID}]; t != nil {
			return t.listing
		}
		var s listing
		if key, h := m.singleLocked(q.Owner, q.ContextID); key != 0 {
			s.move(listKey{}, listKeyOf(&h))
		}
		return s
	}
	if s := m.owners[q.Owner]; s != nil {
		return *s
	}
	return nil
}

// Interrupted implements task.Index.
func (m *Store) Interrupted(ctx context.Context, q *task.Query) (task.Head, error) {
	if err := ctx.Err(); err != nil {
		return task.Head{}, fmt.Errorf("find interrupted task: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	sets := m.listingLocked(q).choose(q.Agent, task.State.Interrupted)
	// An interrupted task has not ended.
	var found *record
	merge(sets, task.Cursor{}, func(c task.Cursor) bool {
		found = m.open[c.Key]
		return false
	})
	if found == nil {
		return task.Head{}, fmt.Errorf("find interrupted task of context %s: %w", q.ContextID, task.ErrNotFound)
	}
	return found.head, nil
}

// Due implements task.Work.
func (m *Store) Due(ctx context.Context, after task.Key, limit int) ([]task.Head, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("due tasks: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var heads []task.Head
	m.due.ascend(task.Cursor{Key: after}, func(c task.Cursor) bool {
		if len(heads) >= limit {
			return false
		}
		heads = append(heads, m.open[c.Key].head)
		return true
	})
	return heads, nil
}

// Stale implements task.Work.
func (m *Store) Stale(ctx context.Context, before task.Millis, limit int) ([]task.Head, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("stale tasks: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var heads []task.Head
	m.interrupted.ascend(task.Cursor{}, func(c task.Cursor) bool {
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

// Sweep implements task.Sweeper.
func (m *Store) Sweep(ctx context.Context, before task.Millis, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("sweep tasks: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []task.Key
	m.ended.ascend(task.Cursor{}, func(c task.Cursor) bool {
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

func (m *Store) deleteLocked(key task.Key) error {
	h, err := m.headLocked(key)
	if err != nil {
		return err
	}
	m.indexLocked(&h, &task.Head{})
	m.leaveContextLocked(&h)
	m.ids.remove(string(h.Owner), string(h.ID), key)
	m.packed.remove(key)
	delete(m.snapshots, key)
	m.hooks.forget(key)
	m.requests.forget(key)
	m.aliases.forget(key)
	delete(m.journals, key)
	m.sidecars.forget(key)
	return nil
}

// Probe implements task.Prober: memory can always be written.
func (m *Store) Probe(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	return nil
}

// Snapshot implements task.Snapshots.
func (m *Store) Snapshot(ctx context.Context, key task.Key) (task.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return task.Snapshot{}, fmt.Errorf("snapshot of task %d: %w", key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.snapshots[key], nil
}

// SaveSnapshot implements task.Snapshots.
func (m *Store) SaveSnapshot(ctx context.Context, key task.Key, s task.Snapshot) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("save snapshot of task %d: %w", key, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	there := m.open[key] != nil || m.packed.has(key)
	if there && s.Version > m.snapshots[key].Version {
		m.snapshots[key] = task.Snapshot{Version: s.Version, Data: slices.Clone(s.Data)}
	}
	return nil
}
