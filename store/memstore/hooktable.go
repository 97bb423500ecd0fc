package memstore

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/task"
)

// hookTable holds the hooks of a memory store by task. A page of all hooks, of unsettled ones
// or of those with dead letters costs in proportion to its length. The zero hookTable is empty.
type hookTable struct {
	tasks map[task.Key]*taskHooks
	// ids maps the ids of tasks with hooks to their keys.
	ids map[a2a.TaskID][]task.Key
	// Each set holds the keys of tasks that have a hook of its kind.
	all, unsettled, dead sortedSet
}

// taskHooks holds the hooks of one task, sorted by id.
type taskHooks struct {
	task  a2a.TaskID
	hooks []*hookRow
	// unsettled and dead are the positions of the task in the sets; zero if it is not in a set.
	unsettled, dead task.Cursor
}

type hookRow struct {
	task.Hook
	dead []task.DeadLetter
}

func (h *hookRow) copy() task.Hook {
	c := h.Hook
	c.Secret = bytes.Clone(c.Secret)
	return c
}

func (p *taskHooks) find(id string) (int, bool) {
	return slices.BinarySearchFunc(p.hooks, id, func(h *hookRow, id string) int {
		return strings.Compare(h.ID, id)
	})
}

// get returns a hook, or nil.
func (b *hookTable) get(ref task.HookRef) *hookRow {
	p := b.tasks[ref.Task]
	if p == nil {
		return nil
	}
	i, found := p.find(ref.ID)
	if !found {
		return nil
	}
	return p.hooks[i]
}

// put stores a copy of h, and replaces a hook with the same ref. id is the id of the task.
func (b *hookTable) put(h *task.Hook, id a2a.TaskID) {
	p := b.tasks[h.Task]
	if p == nil {
		p = b.addTask(h.Task, id)
	}
	kept := &hookRow{Hook: *h}
	kept.Secret = bytes.Clone(h.Secret)
	if i, found := p.find(h.ID); found {
		p.hooks[i] = kept
	} else {
		p.hooks = slices.Insert(p.hooks, i, kept)
	}
	b.reindex(h.Task)
}

func (b *hookTable) addTask(key task.Key, id a2a.TaskID) *taskHooks {
	if b.tasks == nil {
		b.tasks = make(map[task.Key]*taskHooks)
		b.ids = make(map[a2a.TaskID][]task.Key)
	}
	p := &taskHooks{task: id}
	b.tasks[key] = p
	b.ids[id] = append(b.ids[id], key)
	b.all.insert(task.Cursor{Key: key})
	return p
}

// drop deletes a hook, if it exists.
func (b *hookTable) drop(ref task.HookRef) {
	p := b.tasks[ref.Task]
	if p == nil {
		return
	}
	if i, found := p.find(ref.ID); found {
		p.hooks = slices.Delete(p.hooks, i, i+1)
		b.reindex(ref.Task)
	}
}

// forget deletes the hooks of a task.
func (b *hookTable) forget(key task.Key) {
	if p := b.tasks[key]; p != nil {
		p.hooks = nil
		b.reindex(key)
	}
}

// reindex updates the sets to match the hooks of a task.
func (b *hookTable) reindex(key task.Key) {
	p := b.tasks[key]
	var unsettled, dead task.Cursor
	for _, h := range p.hooks {
		if !h.Settled {
			unsettled.Key = key
		}
		if len(h.dead) > 0 {
			dead.Key = key
		}
	}
	b.unsettled.move(p.unsettled, unsettled)
	b.dead.move(p.dead, dead)
	p.unsettled, p.dead = unsettled, dead
	if len(p.hooks) == 0 {
		b.removeTask(key, p.task)
	}
}

func (b *hookTable) removeTask(key task.Key, id a2a.TaskID) {
	delete(b.tasks, key)
	b.all.remove(task.Cursor{Key: key})
	keys := slices.DeleteFunc(b.ids[id], func(k task.Key) bool { return k == key })
	if b.ids[id] = keys; len(keys) == 0 {
		delete(b.ids, id)
	}
}

// walk calls yield for each hook of the tasks in o with a ref above after, in order, until
// yield returns false.
func (b *hookTable) walk(o *sortedSet, after task.HookRef, yield func(*hookRow) bool) {
	more := true
	o.ascend(task.Cursor{Key: after.Task - 1}, func(c task.Cursor) bool {
		for _, h := range b.tasks[c.Key].hooks {
			if more && compareRefs(h.Ref(), after) > 0 {
				more = yield(h)
			}
		}
		return more
	})
}

func compareRefs(a, b task.HookRef) int {
	return cmp.Or(cmp.Compare(a.Task, b.Task), strings.Compare(a.ID, b.ID))
}

// tasksWithID returns the tasks with hooks that have the id.
func (b *hookTable) tasksWithID(id a2a.TaskID) *sortedSet {
	var o sortedSet
	for _, key := range b.ids[id] {
		o.insert(task.Cursor{Key: key})
	}
	return &o
}

// advance applies a step, if its hook exists.
func (b *hookTable) advance(s *task.HookStep) {
	h := b.get(s.HookRef)
	if h == nil {
		return
	}
	h.Position = max(h.Position, s.Position)
	h.Settled = h.Settled || s.Settled
	if s.Lost != nil {
		h.addDeadLetter(*s.Lost)
	}
	b.reindex(h.Task)
}

func (h *hookRow) addDeadLetter(d task.DeadLetter) {
	i, found := slices.BinarySearchFunc(h.dead, d.First, func(d task.DeadLetter, first int64) int {
		return cmp.Compare(d.First, first)
	})
	if found {
		h.dead[i] = d
		return
	}
	h.dead = slices.Insert(h.dead, i, d)
}

// revive moves a hook to the position before its first dead letter and deletes its dead
// letters.
func (b *hookTable) revive(h *hookRow) {
	if len(h.dead) == 0 {
		return
	}
	h.Position = min(h.Position, h.dead[0].First-1)
	h.Settled = false
	h.dead = nil
	b.reindex(h.Task)
}
