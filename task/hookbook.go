package task

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// hookBook holds the hooks of a memory store by task. Pages of all hooks, of those
// that are not settled and of those with dead letters cost what is on them. The zero
// hookBook is empty.
type hookBook struct {
	tasks map[Key]*hookPage
	// ids are the tasks that have hooks, by the ids that callers know.
	ids map[a2a.TaskID][]Key
	// Each order has the keys of tasks that have a hook of its kind.
	all, unsettled, dead order
}

// hookPage is the hooks of one task in order of their ids.
type hookPage struct {
	task  a2a.TaskID
	hooks []*bookedHook
	// unsettled and dead say where in the orders the task stands; zero for nowhere.
	unsettled, dead Cursor
}

type bookedHook struct {
	Hook
	dead []DeadLetter
}

func (h *bookedHook) copy() Hook {
	c := h.Hook
	c.Secret = bytes.Clone(c.Secret)
	return c
}

func (p *hookPage) find(id string) (int, bool) {
	return slices.BinarySearchFunc(p.hooks, id, func(h *bookedHook, id string) int {
		return strings.Compare(h.ID, id)
	})
}

// get returns a hook, or nil.
func (b *hookBook) get(ref HookRef) *bookedHook {
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

// put keeps a copy of h, whose task has the id, instead of one with the same ref.
func (b *hookBook) put(h *Hook, id a2a.TaskID) {
	p := b.tasks[h.Task]
	if p == nil {
		p = b.open(h.Task, id)
	}
	kept := &bookedHook{Hook: *h}
	kept.Secret = bytes.Clone(h.Secret)
	if i, found := p.find(h.ID); found {
		p.hooks[i] = kept
	} else {
		p.hooks = slices.Insert(p.hooks, i, kept)
	}
	b.file(h.Task)
}

func (b *hookBook) open(key Key, id a2a.TaskID) *hookPage {
	if b.tasks == nil {
		b.tasks = make(map[Key]*hookPage)
		b.ids = make(map[a2a.TaskID][]Key)
	}
	p := &hookPage{task: id}
	b.tasks[key] = p
	b.ids[id] = append(b.ids[id], key)
	b.all.insert(Cursor{Key: key})
	return p
}

// drop deletes a hook, if it is there.
func (b *hookBook) drop(ref HookRef) {
	p := b.tasks[ref.Task]
	if p == nil {
		return
	}
	if i, found := p.find(ref.ID); found {
		p.hooks = slices.Delete(p.hooks, i, i+1)
		b.file(ref.Task)
	}
}

// forget deletes the hooks of a task.
func (b *hookBook) forget(key Key) {
	if p := b.tasks[key]; p != nil {
		p.hooks = nil
		b.file(key)
	}
}

// file brings the orders in step with the hooks of a task.
func (b *hookBook) file(key Key) {
	p := b.tasks[key]
	var unsettled, dead Cursor
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
		b.close(key, p.task)
	}
}

func (b *hookBook) close(key Key, id a2a.TaskID) {
	delete(b.tasks, key)
	b.all.remove(Cursor{Key: key})
	keys := slices.DeleteFunc(b.ids[id], func(k Key) bool { return k == key })
	if b.ids[id] = keys; len(keys) == 0 {
		delete(b.ids, id)
	}
}

// walk calls yield for each hook of the tasks in o with a ref above after, in order,
// until it returns false.
func (b *hookBook) walk(o *order, after HookRef, yield func(*bookedHook) bool) {
	more := true
	o.ascend(Cursor{Key: after.Task - 1}, func(c Cursor) bool {
		for _, h := range b.tasks[c.Key].hooks {
			if more && compareRefs(h.Ref(), after) > 0 {
				more = yield(h)
			}
		}
		return more
	})
}

func compareRefs(a, b HookRef) int {
	return cmp.Or(cmp.Compare(a.Task, b.Task), strings.Compare(a.ID, b.ID))
}

// with returns the tasks with hooks that have the id.
func (b *hookBook) with(id a2a.TaskID) *order {
	var o order
	for _, key := range b.ids[id] {
		o.insert(Cursor{Key: key})
	}
	return &o
}

// advance makes a step, if its hook is there.
func (b *hookBook) advance(s *HookStep) {
	h := b.get(s.HookRef)
	if h == nil {
		return
	}
	h.Told = max(h.Told, s.Told)
	h.Settled = h.Settled || s.Settled
	if s.Lost != nil {
		h.lose(*s.Lost)
	}
	b.file(h.Task)
}

func (h *bookedHook) lose(d DeadLetter) {
	i, found := slices.BinarySearchFunc(h.dead, d.First, func(d DeadLetter, first int64) int {
		return cmp.Compare(d.First, first)
	})
	if found {
		h.dead[i] = d
		return
	}
	h.dead = slices.Insert(h.dead, i, d)
}

// revive moves a hook in front of its first dead letter and drops them.
func (b *hookBook) revive(h *bookedHook) {
	if len(h.dead) == 0 {
		return
	}
	h.Told = min(h.Told, h.dead[0].First-1)
	h.Settled = false
	h.dead = nil
	b.file(h.Task)
}
