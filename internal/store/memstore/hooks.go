package memstore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/task"
)

// maxDeadLetters limits the result of DeadLetters.
const maxDeadLetters = 1000

// hookRow is a hook with its dead letters, sorted by their first versions.
type hookRow struct {
	task.Hook
	dead []task.DeadLetter
}

func (h *hookRow) copy() task.Hook {
	c := h.Hook
	c.Secret = bytes.Clone(c.Secret)
	return c
}

// hookIndex holds the keys of the tasks that have a hook, one that is not settled, and one with
// dead letters.
type hookIndex struct{ all, unsettled, dead ordered }

// update moves a task in the index after a change of its hooks.
func (x *hookIndex) update(r *record) {
	put := func(o *ordered, there bool) {
		if c := (task.Cursor{Key: r.head.Key}); there {
			o.insert(c)
		} else {
			o.remove(c)
		}
	}
	put(&x.all, len(r.hooks) > 0)
	put(&x.unsettled, slices.ContainsFunc(r.hooks, func(h *hookRow) bool { return !h.Settled }))
	put(&x.dead, slices.ContainsFunc(r.hooks, func(h *hookRow) bool { return len(h.dead) > 0 }))
}

// findHook returns the position of a hook of a task.
func (r *record) findHook(id string) (int, bool) {
	return slices.BinarySearchFunc(r.hooks, id, func(h *hookRow, id string) int { return strings.Compare(h.ID, id) })
}

// hookLocked returns a hook with the record of its task, or nil.
func (m *Store) hookLocked(ref task.HookRef) (*hookRow, *record) {
	if r := m.tasks[ref.Task]; r != nil {
		if i, found := r.findHook(ref.ID); found {
			return r.hooks[i], r
		}
	}
	return nil, nil
}

// putHookLocked stores a copy of h, and replaces a hook with the same ref.
func (m *Store) putHookLocked(r *record, h *task.Hook) {
	kept := &hookRow{Hook: *h}
	kept.Secret = bytes.Clone(h.Secret)
	if i, found := r.findHook(h.ID); found {
		r.hooks[i] = kept
	} else {
		r.hooks = slices.Insert(r.hooks, i, kept)
	}
	m.hooks.update(r)
}

// PutHook implements task.Hooks.
func (m *Store) PutHook(ctx context.Context, h *task.Hook) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.tasks[h.Task]
	err := ctx.Err()
	switch {
	case err != nil:
	case h.ID == "":
		err = task.ErrHookID
	case r == nil:
		err = task.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("put hook %s of task %d: %w", h.ID, h.Task, err)
	}
	m.putHookLocked(r, h)
	return nil
}

// Hooks implements task.Hooks.
func (m *Store) Hooks(ctx context.Context, key task.Key, after string, limit int) ([]task.Hook, error) {
	if err := checkPage(ctx, limit); err != nil {
		return nil, fmt.Errorf("hooks of task %d: %w", key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var found []task.Hook
	if r := m.tasks[key]; r != nil {
		for _, h := range r.hooks {
			if h.ID > after && len(found) < limit {
				found = append(found, h.copy())
			}
		}
	}
	return found, nil
}

// DropHook implements task.Hooks.
func (m *Store) DropHook(ctx context.Context, ref task.HookRef) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("drop hook %s of task %d: %w", ref.ID, ref.Task, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if h, r := m.hookLocked(ref); h != nil {
		r.hooks = slices.DeleteFunc(r.hooks, func(o *hookRow) bool { return o == h })
		m.hooks.update(r)
	}
	return nil
}

// hookedLocked returns up to limit hooks after a ref, of the tasks in o, that are wanted.
func (m *Store) hookedLocked(o ordered, q *task.HookQuery, wanted func(*hookRow, *task.Head) bool) []task.Hooked {
	var found []task.Hooked
	for _, c := range o.after(task.Cursor{Key: q.After.Task - 1}) {
		r := m.tasks[c.Key]
		for _, h := range r.hooks {
			if compareRefs(h.Ref(), q.After) <= 0 || !wanted(h, &r.head) {
				continue
			}
			if len(found) == q.Limit {
				return found
			}
			found = append(found, task.Hooked{Hook: h.copy(), Head: r.head})
		}
	}
	return found
}

func compareRefs(a, b task.HookRef) int {
	return cmp.Or(cmp.Compare(a.Task, b.Task), strings.Compare(a.ID, b.ID))
}

// Unsettled implements task.HookWork.
func (m *Store) Unsettled(ctx context.Context, after task.HookRef, limit int) ([]task.Hooked, error) {
	if err := checkPage(ctx, limit); err != nil {
		return nil, fmt.Errorf("unsettled hooks: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	q := &task.HookQuery{After: after, Limit: limit}
	return m.hookedLocked(m.hooks.unsettled, q, func(h *hookRow, _ *task.Head) bool { return !h.Settled }), nil
}

// FindHooks implements task.HookAdmin.
func (m *Store) FindHooks(ctx context.Context, q *task.HookQuery) ([]task.Hooked, error) {
	if err := checkPage(ctx, q.Limit); err != nil {
		return nil, fmt.Errorf("find hooks: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	o := m.hooks.all
	if q.Dead {
		o = m.hooks.dead
	}
	return m.hookedLocked(o, q, func(h *hookRow, head *task.Head) bool {
		return (q.Task == "" || head.ID == q.Task) && (!q.Dead || len(h.dead) > 0)
	}), nil
}

// Advance implements task.HookWork.
func (m *Store) Advance(ctx context.Context, steps []task.HookStep) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("advance %d hooks: %w", len(steps), err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range steps {
		s := &steps[i]
		h, r := m.hookLocked(s.HookRef)
		if h == nil {
			continue
		}
		h.Position = max(h.Position, s.Position)
		h.Settled = h.Settled || s.Settled
		if s.Lost != nil {
			h.addDeadLetter(*s.Lost)
		}
		m.hooks.update(r)
	}
	return nil
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

// DeadLetters implements task.HookAdmin.
func (m *Store) DeadLetters(ctx context.Context, ref task.HookRef) ([]task.DeadLetter, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("dead letters of hook %s of task %d: %w", ref.ID, ref.Task, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	h, _ := m.hookLocked(ref)
	if h == nil {
		return nil, nil
	}
	return slices.Clone(h.dead[:min(len(h.dead), maxDeadLetters)]), nil
}

// Revive implements task.HookAdmin.
func (m *Store) Revive(ctx context.Context, ref task.HookRef) (task.Hooked, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, r := m.hookLocked(ref)
	err := ctx.Err()
	if err == nil && h == nil {
		err = task.ErrNotFound
	}
	if err != nil {
		return task.Hooked{}, fmt.Errorf("revive hook %s of task %d: %w", ref.ID, ref.Task, err)
	}
	if len(h.dead) > 0 {
		h.Position = min(h.Position, h.dead[0].First-1)
		h.Settled = false
		h.dead = nil
		m.hooks.update(r)
	}
	return task.Hooked{Hook: h.copy(), Head: r.head}, nil
}
