package memstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/parley-a2a/parley/task"
)

// maxDeadLetters limits the result of DeadLetters.
const maxDeadLetters = 1000

var errLimit = errors.New("limit is not positive")

// hookLocked stores the hook of a stored change.
func (m *Store) hookLocked(c *task.Change) {
	c.Hook.Task = c.Next.Key
	m.hooks.put(c.Hook, c.Next.ID)
}

// PutHook implements task.Hooks.
func (m *Store) PutHook(ctx context.Context, h *task.Hook) error {
	err := ctx.Err()
	if err == nil && h.ID == "" {
		err = task.ErrHookID
	}
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		var head task.Head
		if head, err = m.headLocked(h.Task); err == nil {
			m.hooks.put(h, head.ID)
		}
	}
	if err != nil {
		return fmt.Errorf("put hook %s of task %d: %w", h.ID, h.Task, err)
	}
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
	if p := m.hooks.tasks[key]; p != nil {
		for _, h := range p.hooks {
			if h.ID > after && len(found) < limit {
				found = append(found, h.copy())
			}
		}
	}
	return found, nil
}

func checkPage(ctx context.Context, limit int) error {
	if limit <= 0 {
		return errLimit
	}
	return ctx.Err()
}

// DropHook implements task.Hooks.
func (m *Store) DropHook(ctx context.Context, ref task.HookRef) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("drop hook %s of task %d: %w", ref.ID, ref.Task, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hooks.drop(ref)
	return nil
}

// Unsettled implements task.HookWork.
func (m *Store) Unsettled(ctx context.Context, after task.HookRef, limit int) ([]task.Hooked, error) {
	if err := checkPage(ctx, limit); err != nil {
		return nil, fmt.Errorf("unsettled hooks: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	found, err := m.hookedLocked(&m.hooks.unsettled, after, limit, func(h *hookRow) bool { return !h.Settled })
	if err != nil {
		return nil, fmt.Errorf("unsettled hooks: %w", err)
	}
	return found, nil
}

// hookedLocked returns up to limit hooks of the tasks in o for which wanted reports true.
func (m *Store) hookedLocked(o *sortedSet, after task.HookRef, limit int, wanted func(*hookRow) bool) ([]task.Hooked, error) {
	var found []task.Hooked
	var err error
	m.hooks.walk(o, after, func(h *hookRow) bool {
		if !wanted(h) {
			return true
		}
		var head task.Head
		head, err = m.headLocked(h.Task)
		found = append(found, task.Hooked{Hook: h.copy(), Head: head})
		return err == nil && len(found) < limit
	})
	return found, err
}

// Advance implements task.HookWork.
func (m *Store) Advance(ctx context.Context, steps []task.HookStep) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("advance %d hooks: %w", len(steps), err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range steps {
		m.hooks.advance(&steps[i])
	}
	return nil
}

// FindHooks implements task.HookAdmin.
func (m *Store) FindHooks(ctx context.Context, q *task.HookQuery) ([]task.Hooked, error) {
	if err := checkPage(ctx, q.Limit); err != nil {
		return nil, fmt.Errorf("find hooks: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	o := &m.hooks.all
	switch {
	case q.Task != "":
		o = m.hooks.tasksWithID(q.Task)
	case q.Dead:
		o = &m.hooks.dead
	}
	found, err := m.hookedLocked(o, q.After, q.Limit, func(h *hookRow) bool { return !q.Dead || len(h.dead) > 0 })
	if err != nil {
		return nil, fmt.Errorf("find hooks: %w", err)
	}
	return found, nil
}

// DeadLetters implements task.HookAdmin.
func (m *Store) DeadLetters(ctx context.Context, ref task.HookRef) ([]task.DeadLetter, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("dead letters of hook %s of task %d: %w", ref.ID, ref.Task, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	h := m.hooks.get(ref)
	if h == nil {
		return nil, nil
	}
	return slices.Clone(h.dead[:min(len(h.dead), maxDeadLetters)]), nil
}

// Revive implements task.HookAdmin.
func (m *Store) Revive(ctx context.Context, ref task.HookRef) (task.Hooked, error) {
	if err := ctx.Err(); err != nil {
		return task.Hooked{}, fmt.Errorf("revive hook %s of task %d: %w", ref.ID, ref.Task, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.hooks.get(ref)
	if h == nil {
		return task.Hooked{}, fmt.Errorf("revive hook %s of task %d: %w", ref.ID, ref.Task, task.ErrNotFound)
	}
	head, err := m.headLocked(ref.Task)
	if err != nil {
		return task.Hooked{}, fmt.Errorf("revive hook %s of task %d: %w", ref.ID, ref.Task, err)
	}
	m.hooks.revive(h)
	return task.Hooked{Hook: h.copy(), Head: head}, nil
}
