package tasktest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/internal/task"
)

// testHookModel applies random operations to the hooks of a store and to a map of hooks, and
// compares the results.
func testHookModel(t *testing.T, s task.Store) {
	rapid.Check(t, func(rt *rapid.T) {
		empty(t, s)
		m := &hookModel{
			model: model{t: rt, s: s, now: Epoch, changed: map[string]task.Millis{}},
			s:     s, hooks: map[task.HookRef]*modelHook{},
		}
		rt.Repeat(map[string]func(*rapid.T){
			"create":    m.with(m.create),
			"append":    m.with(m.several(m.append)),
			"appendOld": m.with(m.appendOld),
			"put":       m.with(m.several(m.put)),
			"drop":      m.with(m.drop),
			"advance":   m.with(m.several(m.advance)),
			"revive":    m.with(m.revive),
			"sweep":     m.with(m.sweep),
			"compare":   m.with(m.compare),
		})
	})
}

// hookModel is the simplest possible store of hooks. Its tasks are those of model, with hooks
// at some changes.
type hookModel struct {
	model
	s     task.Store
	hooks map[task.HookRef]*modelHook
}

type modelHook struct {
	task.Hook
	dead map[int64]task.DeadLetter
}

// refs returns the sorted refs of the hooks for which wanted reports true.
func (m *hookModel) refs(wanted func(*modelHook) bool) []task.HookRef {
	refs := slices.SortedFunc(maps.Keys(m.hooks), func(a, b task.HookRef) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), strings.Compare(a.ID, b.ID))
	})
	return slices.DeleteFunc(refs, func(ref task.HookRef) bool { return !wanted(m.hooks[ref]) })
}

func (m *hookModel) task(key task.Key) *modelTask {
	for _, t := range m.tasks {
		if t.head.Key == key {
			return t
		}
	}
	return nil
}

// hook returns a new hook, or none.
func (m *hookModel) hook() *task.Hook {
	if rapid.Bool().Draw(m.t, "without") {
		return nil
	}
	h := NewHook(0, pick(&m.model, "hook", "a", "b", "c"))
	h.URL = fmt.Sprint("https://example.org/", rapid.IntRange(0, 99).Draw(m.t, "url"))
	h.Position = int64(rapid.IntRange(0, 5).Draw(m.t, "position"))
	h.Settled = rapid.Bool().Draw(m.t, "settled")
	return h
}

func (m *hookModel) keepHook(h *task.Hook) {
	if h != nil {
		m.hooks[h.Ref()] = &modelHook{Hook: *h, dead: map[int64]task.DeadLetter{}}
	}
}

func (m *hookModel) create() {
	c, err := Try(NewHead(m.owner(), m.id()), Created(m.now, "hello"))
	if err != nil {
		m.t.Fatal(err)
	}
	c.Hook = m.hook()
	err = m.s.Append(context.Background(), c)
	if m.find(c.Next.Owner, c.Next.ID) != nil {
		m.wantError("Append", err, task.ErrExists)
		return
	}
	m.wantError("Append", err, nil)
	t := &modelTask{}
	m.tasks = append(m.tasks, t)
	m.keep(t, c)
	m.keepHook(c.Hook)
}

func (m *hookModel) append() {
	t := m.any()
	c, err := Try(t.head, m.entry())
	if err != nil {
		return
	}
	c.Hook = m.hook()
	m.wantError("Append", m.s.Append(context.Background(), c), nil)
	m.keep(t, c)
	m.keepHook(c.Hook)
}

func (m *hookModel) appendOld() {
	t := m.any()
	if t.old.Rev == 0 {
		m.t.Skip("no earlier head")
	}
	c, err := Try(t.old)
	if err != nil {
		m.t.Skip("refused")
	}
	c.Hook = m.hook()
	m.wantError("Append from an old head", m.s.Append(context.Background(), c), task.ErrConflict)
}

// ref names a hook that may or may not exist.
func (m *hookModel) ref() task.HookRef {
	return task.HookRef{Task: m.any().head.Key, ID: pick(&m.model, "hook", "a", "b", "c")}
}

func (m *hookModel) put() {
	h := m.hook()
	if h == nil {
		return
	}
	h.Task = m.any().head.Key
	m.wantError("PutHook", m.s.PutHook(context.Background(), h), nil)
	m.keepHook(h)
}

func (m *hookModel) drop() {
	ref := m.ref()
	m.wantError("DropHook", m.s.DropHook(context.Background(), ref), nil)
	delete(m.hooks, ref)
}

func (m *hookModel) advance() {
	var steps []task.HookStep
	for range rapid.IntRange(0, 4).Draw(m.t, "steps") {
		ref := m.ref()
		position := int64(rapid.IntRange(0, 9).Draw(m.t, "position"))
		s := step(ref.Task, ref.ID, position)
		if position > 0 && rapid.Bool().Draw(m.t, "lost") {
			s = lost(ref.Task, ref.ID, int64(rapid.IntRange(1, int(position)).Draw(m.t, "first")), position)
		}
		s.Settled = rapid.Bool().Draw(m.t, "settled")
		steps = append(steps, s)
	}
	m.wantError("Advance", m.s.Advance(context.Background(), steps), nil)
	for _, s := range steps {
		h := m.hooks[s.HookRef]
		if h == nil {
			continue
		}
		h.Position = max(h.Position, s.Position)
		h.Settled = h.Settled || s.Settled
		if s.Lost != nil {
			h.dead[s.Lost.First] = *s.Lost
		}
	}
}

func (m *hookModel) revive() {
	ref := m.ref()
	got, err := m.s.Revive(context.Background(), ref)
	h := m.hooks[ref]
	if h == nil {
		m.wantError("Revive", err, task.ErrNotFound)
		return
	}
	m.wantError("Revive", err, nil)
	if len(h.dead) > 0 {
		h.Position = min(h.Position, slices.Min(slices.Collect(maps.Keys(h.dead)))-1)
		h.Settled = false
		clear(h.dead)
	}
	m.wantSame("Revive", task.Hooked{Hook: h.Hook, Head: m.task(ref.Task).head}, got)
}

func (m *hookModel) sweep() {
	m.model.sweep()
	for ref := range m.hooks {
		if m.task(ref.Task) == nil {
			delete(m.hooks, ref)
		}
	}
}

// compare compares all hooks of the store with those of the model.
func (m *hookModel) compare() {
	all := m.refs(func(*modelHook) bool { return true })
	m.wantSame("FindHooks", m.hooked(all), m.pages(task.HookQuery{Limit: 3}))
	dead := m.refs(func(h *modelHook) bool { return len(h.dead) > 0 })
	m.wantSame("FindHooks with dead letters", m.hooked(dead), m.pages(task.HookQuery{Dead: true, Limit: 2}))
	id := m.id()
	named := m.refs(func(h *modelHook) bool { return m.task(h.Task).head.ID == id })
	m.wantSame("FindHooks of a task", m.hooked(named), m.pages(task.HookQuery{Task: id, Limit: 2}))

	var open []task.Hooked
	for {
		after := task.HookRef{}
		if len(open) > 0 {
			after = open[len(open)-1].Ref()
		}
		page, err := m.s.Unsettled(context.Background(), after, 3)
		m.wantError("Unsettled", err, nil)
		if len(page) == 0 {
			break
		}
		open = append(open, page...)
	}
	m.wantSame("Unsettled", m.hooked(m.refs(func(h *modelHook) bool { return !h.Settled })), open)
	for _, ref := range all {
		got, err := m.s.DeadLetters(context.Background(), ref)
		m.wantError("DeadLetters", err, nil)
		want := slices.SortedFunc(maps.Values(m.hooks[ref].dead), func(a, b task.DeadLetter) int {
			return cmp.Compare(a.First, b.First)
		})
		m.wantSame("DeadLetters", want, got)
	}
}

func (m *hookModel) hooked(refs []task.HookRef) []task.Hooked {
	var hs []task.Hooked
	for _, ref := range refs {
		hs = append(hs, task.Hooked{Hook: m.hooks[ref].Hook, Head: m.task(ref.Task).head})
	}
	return hs
}

// pages returns all pages of q.
func (m *hookModel) pages(q task.HookQuery) []task.Hooked {
	var all []task.Hooked
	for {
		page, err := m.s.FindHooks(context.Background(), &q)
		m.wantError("FindHooks", err, nil)
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		q.After = page[len(page)-1].Ref()
	}
}
