package memstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/task"
)

// Store keeps tasks in memory and loses them with the process. The zero Store is empty and
// ready to use. It must not be copied.
//
// The cost of finding a task does not depend on the number of tasks, and that of a page of a
// list hardly does. A task is kept until it is swept.
type Store struct {
	mu sync.RWMutex // guards all fields below; never held during calls to other packages' code

	lastKey task.Key
	tasks   map[task.Key]*record
	ids     map[taskID]task.Key
	owners  map[task.Owner]listing
	threads map[contextID]*thread

	// due holds the tasks that are due, by key; interrupted those that are interrupted and have
	// no run, by the time of their status; ended those that may be swept, by the time of their
	// last entry.
	due, interrupted, ended ordered

	aliases  map[aliasName]*ordered
	sidecars map[sidecarList]*ordered
	requests map[requestName]requestRow
	hooks    hookIndex
	timeline timeline
}

var _ task.Store = (*Store)(nil)

type taskID struct {
	owner task.Owner
	id    a2a.TaskID
}

type contextID struct {
	owner task.Owner
	id    string
}

// record is a task with all that is stored beside it.
type record struct {
	head     task.Head
	entries  []task.Entry
	snapshot task.Snapshot
	journal  []task.Record
	sidecars [task.SidecarKinds][]byte
	aliases  []string
	requests []requestName
	hooks    []*hookRow // sorted by id
}

// thread is a context: all tasks of an owner that share a context id.
type thread struct {
	listed ordered
	// tasks counts its tasks, listed or not.
	tasks     int
	changedAt task.Millis
}

func (m *Store) initLocked() {
	if m.tasks != nil {
		return
	}
	m.tasks = make(map[task.Key]*record)
	m.ids = make(map[taskID]task.Key)
	m.owners = make(map[task.Owner]listing)
	m.threads = make(map[contextID]*thread)
	m.aliases = make(map[aliasName]*ordered)
	m.sidecars = make(map[sidecarList]*ordered)
	m.requests = make(map[requestName]requestRow)
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
	m.initLocked()
	r, err := m.recordLocked(c)
	if err != nil {
		return fmt.Errorf("append %s at rev %d: %w", c.Next.ID, c.Prev.Rev, err)
	}
	m.indexLocked(&r.head, &c.Next)
	r.head = c.Next
	r.addJournal(c)
	m.putSidecarsLocked(r, c)
	if c.Alias != "" {
		if !slices.Contains(r.aliases, c.Alias) {
			r.aliases = append(r.aliases, c.Alias)
			insertInto(m.aliases, aliasName{r.head.Owner, c.Alias}, r.head.Key)
		}
	}
	if c.Request != nil {
		name := nameOf(c)
		m.requests[name] = requestRow{bytes.Clone(c.Request.Fingerprint), c.Request.At, c.Next.Key, c.Next.Version}
		r.requests = append(r.requests, name)
	}
	if c.Hook != nil {
		c.Hook.Task = c.Next.Key
		m.putHookLocked(r, c.Hook)
	}
	if n := len(c.Entries); n > 0 {
		m.timeline.add(moment{key: c.Next.Key, first: c.Entries[0].Version, last: c.Entries[n-1].Version})
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
	if c.Request != nil && m.usedLocked(c) {
		return nil, task.ErrKeyUsed
	}
	if c.Prev.Rev != 0 {
		r := m.tasks[c.Prev.Key]
		if r == nil || r.head.Rev != c.Prev.Rev {
			return nil, task.ErrConflict
		}
		return r, nil
	}
	id := taskID{c.Next.Owner, c.Next.ID}
	if m.ids[id] != 0 {
		return nil, task.ErrExists
	}
	m.lastKey++
	c.Next.Key = m.lastKey
	r := &record{}
	m.tasks[m.lastKey], m.ids[id] = r, m.lastKey
	if c.Next.ContextID != "" {
		in := contextID{c.Next.Owner, c.Next.ContextID}
		t := m.threads[in]
		if t == nil {
			t = &thread{}
			m.threads[in] = t
		}
		t.tasks++
	}
	return r, nil
}

// headLocked returns the head of a task.
func (m *Store) headLocked(key task.Key) (task.Head, error) {
	if r := m.tasks[key]; r != nil {
		return r.head, nil
	}
	return task.Head{}, task.ErrNotFound
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
	if t := m.threads[contextID{either.Owner, either.ContextID}]; t != nil {
		t.changedAt = max(t.changedAt, next.UpdatedAt)
		t.listed.move(was.at, is.at)
	}
	if was == is {
		return
	}
	s := m.owners[either.Owner]
	if s == nil {
		s = listing{}
		m.owners[either.Owner] = s
	}
	if s.move(was, is); len(s) == 0 {
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

// Head implements task.Log.
func (m *Store) Head(ctx context.Context, owner task.Owner, id a2a.TaskID) (task.Head, error) {
	if err := ctx.Err(); err != nil {
		return task.Head{}, fmt.Errorf("head %s: %w", id, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	h, err := m.headLocked(m.ids[taskID{owner, id}])
	if err != nil {
		return task.Head{}, fmt.Errorf("head %s: %w", id, err)
	}
	return h, nil
}

// Find implements task.Finder.
func (m *Store) Find(ctx context.Context, id a2a.TaskID) ([]task.Head, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("find %s: %w", id, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var found []task.Head
	for _, r := range m.tasks {
		if r.head.ID == id {
			found = append(found, r.head)
		}
	}
	slices.SortFunc(found, func(a, b task.Head) int { return cmp.Compare(a.Owner, b.Owner) })
	return found, nil
}

// The size of a page of entries, or of records of a journal.
const (
	pageLength = 256
	pageBytes  = 1 << 20
)

// pageOf returns the first elements of all that fit in a page, at least one.
func pageOf[E any](all []E, size func(*E) int) []E {
	bytes := 0
	for i := range all {
		bytes += size(&all[i])
		if i == pageLength || i > 0 && bytes > pageBytes {
			return all[:i:i]
		}
	}
	return all[:len(all):len(all)]
}

// Read implements task.Log. The entries share memory with the store.
func (m *Store) Read(ctx context.Context, key task.Key, after int64) ([]task.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read task %d: %w", key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	r := m.tasks[key]
	if r == nil {
		return nil, fmt.Errorf("read task %d: %w", key, task.ErrNotFound)
	}
	rest := r.entries[min(max(after, 0), int64(len(r.entries))):]
	return pageOf(rest, func(e *task.Entry) int { return len(e.Body) }), nil
}

// Excerpts implements task.Excerpts.
func (m *Store) Excerpts(ctx context.Context, at []task.Position, most int) ([]task.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read excerpts: %w", err)
	}
	all := make([]task.Entry, len(at))
	m.mu.RLock()
	defer m.mu.RUnlock()
	for i, p := range at {
		r := m.tasks[p.Key]
		if r == nil || p.Version < 1 || p.Version > int64(len(r.entries)) {
			continue
		}
		if e := &r.entries[p.Version-1]; len(e.Body) <= most {
			all[i] = *e
		}
	}
	return all, nil
}

// Due implements task.Work.
func (m *Store) Due(ctx context.Context, after task.Key, limit int) ([]task.Head, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("due tasks: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var heads []task.Head
	for _, c := range m.due.after(task.Cursor{Key: after}) {
		if len(heads) >= limit {
			break
		}
		heads = append(heads, m.tasks[c.Key].head)
	}
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
	for _, c := range m.interrupted {
		if len(heads) >= limit || c.At >= before {
			break
		}
		h := &m.tasks[c.Key].head
		changed := h.UpdatedAt
		if t := m.threads[contextID{h.Owner, h.ContextID}]; t != nil {
			changed = t.changedAt
		}
		if changed < before {
			heads = append(heads, *h)
		}
	}
	return heads, nil
}

// Sweep implements task.Sweeper.
func (m *Store) Sweep(ctx context.Context, before task.Millis, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("sweep tasks: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for n < limit && len(m.ended) > 0 && m.ended[0].At < before {
		m.deleteLocked(m.ended[0].Key)
		n++
	}
	return n, nil
}

func (m *Store) deleteLocked(key task.Key) {
	r := m.tasks[key]
	h := r.head
	m.indexLocked(&h, &task.Head{})
	for _, alias := range r.aliases {
		removeFrom(m.aliases, aliasName{h.Owner, alias}, key)
	}
	for kind := range task.SidecarKinds {
		m.dropSidecarLocked(r, kind)
	}
	for _, name := range r.requests {
		if m.requests[name].task == key {
			delete(m.requests, name)
		}
	}
	r.hooks = nil
	m.hooks.update(r)
	delete(m.tasks, key)
	delete(m.ids, taskID{h.Owner, h.ID})
	in := contextID{h.Owner, h.ContextID}
	if t := m.threads[in]; t != nil {
		if t.tasks--; t.tasks == 0 {
			delete(m.threads, in)
		}
	}
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
	if r := m.tasks[key]; r != nil {
		return r.snapshot, nil
	}
	return task.Snapshot{}, nil
}

// SaveSnapshot implements task.Snapshots.
func (m *Store) SaveSnapshot(ctx context.Context, key task.Key, s task.Snapshot) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("save snapshot of task %d: %w", key, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.tasks[key]; r != nil && s.Version > r.snapshot.Version {
		r.snapshot = task.Snapshot{Version: s.Version, Data: slices.Clone(s.Data)}
	}
	return nil
}

// addJournal adds the records of a change whose numbers are new.
func (r *record) addJournal(c *task.Change) {
	if c.Forget {
		r.journal = nil
	}
	for _, a := range c.Journal {
		if n := len(r.journal); n == 0 || r.journal[n-1].Number < a.Number {
			r.journal = append(r.journal, task.Record{Number: a.Number, Data: bytes.Clone(a.Data)})
		}
	}
}

// Journal implements task.Journals.
func (m *Store) Journal(ctx context.Context, key task.Key, after int64) ([]task.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("journal of task %d: %w", key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	r := m.tasks[key]
	if r == nil {
		return nil, nil
	}
	rest := r.journal
	for len(rest) > 0 && rest[0].Number <= after {
		rest = rest[1:]
	}
	var page []task.Record
	for _, a := range pageOf(rest, func(a *task.Record) int { return len(a.Data) }) {
		page = append(page, task.Record{Number: a.Number, Data: bytes.Clone(a.Data)})
	}
	return page, nil
}

// aliasName is an alias within its owner.
type aliasName struct {
	owner task.Owner
	alias string
}

// ByAlias implements task.Aliases.
func (m *Store) ByAlias(ctx context.Context, owner task.Owner, agent task.Agent, alias string) (task.Head, error) {
	if err := ctx.Err(); err != nil {
		return task.Head{}, fmt.Errorf("task by alias %q: %w", alias, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if keys := m.aliases[aliasName{owner, alias}]; keys != nil {
		for _, c := range slices.Backward(*keys) {
			if h := m.tasks[c.Key].head; h.Visibility == task.Visible && (agent == "" || h.Agent == agent) {
				return h, nil
			}
		}
	}
	return task.Head{}, fmt.Errorf("task by alias %q: %w", alias, task.ErrNotFound)
}

var errLimit = errors.New("limit must be positive")

func checkPage(ctx context.Context, limit int) error {
	if limit <= 0 {
		return errLimit
	}
	return ctx.Err()
}
