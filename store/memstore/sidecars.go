package memstore

import (
	"bytes"
	"context"
	"fmt"

	"github.com/parley-a2a/parley/task"
)

type sidecarID struct {
	kind task.SidecarKind
	task task.Key
}

// sidecarList identifies the tasks with a sidecar of a kind; those of one parent, unless it is
// zero.
type sidecarList struct {
	kind   task.SidecarKind
	parent task.Key
}

// sidecarTable holds the sidecars of a store. The zero sidecarTable is empty.
type sidecarTable struct {
	data  map[sidecarID][]byte
	lists map[sidecarList]*sortedSet
}

// put stores the sidecars of a stored change.
func (t *sidecarTable) put(c *task.Change) {
	for i, data := range c.Sidecars {
		if data == nil {
			continue
		}
		if t.data == nil {
			t.data = make(map[sidecarID][]byte)
			t.lists = make(map[sidecarList]*sortedSet)
		}
		id := sidecarID{task.SidecarKind(i), c.Next.Key}
		if _, replaced := t.data[id]; !replaced {
			t.index(id, data, (*sortedSet).insert)
		}
		t.data[id] = bytes.Clone(data)
	}
}

// drop deletes a sidecar, if it exists.
func (t *sidecarTable) drop(id sidecarID) {
	if data, exists := t.data[id]; exists {
		delete(t.data, id)
		t.index(id, data, (*sortedSet).remove)
	}
}

// index changes the lists that contain a sidecar.
func (t *sidecarTable) index(id sidecarID, data []byte, change func(*sortedSet, task.Cursor)) {
	lists := []sidecarList{{kind: id.kind}}
	if parent := id.kind.Parent(data); parent != 0 {
		lists = append(lists, sidecarList{id.kind, parent})
	}
	for _, l := range lists {
		set := t.lists[l]
		if set == nil {
			set = new(sortedSet)
			t.lists[l] = set
		}
		if change(set, task.Cursor{Key: id.task}); set.n == 0 {
			delete(t.lists, l)
		}
	}
}

// forget deletes the sidecars of a task.
func (t *sidecarTable) forget(key task.Key) {
	for kind := range task.SidecarKinds {
		t.drop(sidecarID{kind, key})
	}
}

// Sidecar implements task.Sidecars.
func (m *Store) Sidecar(ctx context.Context, key task.Key, kind task.SidecarKind) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("sidecar %d of task %d: %w", kind, key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return bytes.Clone(m.sidecars.data[sidecarID{kind, key}]), nil
}

// Sidecars implements task.Sidecars.
func (m *Store) Sidecars(ctx context.Context, q *task.SidecarQuery) (page []task.Sidecar, err error) {
	if err := checkPage(ctx, q.Limit); err != nil {
		return nil, fmt.Errorf("sidecars %d: %w", q.Kind, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	set := m.sidecars.lists[sidecarList{q.Kind, q.Parent}]
	if set == nil {
		return nil, nil
	}
	set.ascend(task.Cursor{Key: q.After}, func(c task.Cursor) bool {
		if len(page) == q.Limit {
			return false
		}
		var h task.Head
		h, err = m.headLocked(c.Key)
		page = append(page, task.Sidecar{Head: h, Data: bytes.Clone(m.sidecars.data[sidecarID{q.Kind, c.Key}])})
		return err == nil
	})
	if err != nil {
		return nil, fmt.Errorf("sidecars %d: %w", q.Kind, err)
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
	m.sidecars.drop(sidecarID{kind, key})
	return nil
}
