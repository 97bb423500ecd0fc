package memstore

import (
	"bytes"
	"context"
	"fmt"

	"github.com/parley-a2a/parley/internal/task"
)

// sidecarList identifies the tasks with a sidecar of a kind; those of one parent, unless it is
// zero.
type sidecarList struct {
	kind   task.SidecarKind
	parent task.Key
}

// listsOf returns the lists that contain a sidecar.
func listsOf(kind task.SidecarKind, data []byte) []sidecarList {
	lists := []sidecarList{{kind: kind}}
	if parent := kind.Parent(data); parent != 0 {
		lists = append(lists, sidecarList{kind, parent})
	}
	return lists
}

// putSidecarsLocked stores the sidecars of a change.
func (m *Store) putSidecarsLocked(r *record, c *task.Change) {
	for i, data := range c.Sidecars {
		if data == nil {
			continue
		}
		kind := task.SidecarKind(i)
		if r.sidecars[kind] == nil {
			for _, l := range listsOf(kind, data) {
				insertInto(m.sidecars, l, r.head.Key)
			}
		}
		r.sidecars[kind] = bytes.Clone(data)
	}
}

// dropSidecarLocked deletes a sidecar, if it exists.
func (m *Store) dropSidecarLocked(r *record, kind task.SidecarKind) {
	if r.sidecars[kind] == nil {
		return
	}
	for _, l := range listsOf(kind, r.sidecars[kind]) {
		removeFrom(m.sidecars, l, r.head.Key)
	}
	r.sidecars[kind] = nil
}

// Sidecar implements task.Sidecars.
func (m *Store) Sidecar(ctx context.Context, key task.Key, kind task.SidecarKind) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("sidecar %d of task %d: %w", kind, key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if r := m.tasks[key]; r != nil {
		return bytes.Clone(r.sidecars[kind]), nil
	}
	return nil, nil
}

// Sidecars implements task.Sidecars.
func (m *Store) Sidecars(ctx context.Context, q *task.SidecarQuery) ([]task.Sidecar, error) {
	if err := checkPage(ctx, q.Limit); err != nil {
		return nil, fmt.Errorf("sidecars %d: %w", q.Kind, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	set := m.sidecars[sidecarList{q.Kind, q.Parent}]
	if set == nil {
		return nil, nil
	}
	var page []task.Sidecar
	for _, c := range set.after(task.Cursor{Key: q.After}) {
		if len(page) == q.Limit {
			break
		}
		r := m.tasks[c.Key]
		page = append(page, task.Sidecar{Head: r.head, Data: bytes.Clone(r.sidecars[q.Kind])})
	}
	return page, nil
}

// DropSidecar implements task.Sidecars.
func (m *Store) DropSidecar(ctx context.Context, key task.Key, kind task.SidecarKind) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("drop sidecar %d of task %d: %w", kind, key, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.tasks[key]; r != nil {
		m.dropSidecarLocked(r, kind)
	}
	return nil
}
