package memstore

import (
	"bytes"
	"context"
	"fmt"

	"github.com/parley-a2a/parley/task"
)

// lineageTable holds the lineages of a store. The zero lineageTable is empty.
type lineageTable struct {
	of       map[task.Key]task.Lineage
	children map[task.Key][]task.Key
}

func (k *lineageTable) put(key task.Key, l task.Lineage) {
	if k.of == nil {
		k.of = make(map[task.Key]task.Lineage)
		k.children = make(map[task.Key][]task.Key)
	}
	k.of[key] = l
	k.children[l.Parent] = append(k.children[l.Parent], key) // keys only grow
}

// forget deletes the lineage of a deleted task.
func (k *lineageTable) forget(key task.Key) {
	l, there := k.of[key]
	if !there {
		return
	}
	delete(k.of, key)
	left := k.children[l.Parent][:0]
	for _, child := range k.children[l.Parent] {
		if child != key {
			left = append(left, child)
		}
	}
	if k.children[l.Parent] = left; len(left) == 0 {
		delete(k.children, l.Parent)
	}
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
	if c.Checkpoint != nil {
		if m.checkpoints == nil {
			m.checkpoints = make(map[task.Key][]byte)
		}
		m.checkpoints[c.Next.Key] = bytes.Clone(c.Checkpoint)
	}
	m.journals.put(c)
	if c.Lineage != nil {
		m.kin.put(c.Next.Key, *c.Lineage)
	}
	if c.Mark != nil {
		m.marks.put(c.Next.Key, c.Mark)
	}
}

// Checkpoint implements task.Checkpoints.
func (m *Store) Checkpoint(ctx context.Context, key task.Key) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("checkpoint of task %d: %w", key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return bytes.Clone(m.checkpoints[key]), nil
}

// Lineage implements task.Lineages.
func (m *Store) Lineage(ctx context.Context, key task.Key) (task.Lineage, error) {
	if err := ctx.Err(); err != nil {
		return task.Lineage{}, fmt.Errorf("lineage of task %d: %w", key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.kin.of[key], nil
}

// Children implements task.Lineages.
func (m *Store) Children(ctx context.Context, parent, after task.Key, limit int) ([]task.Head, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("children of task %d: %w", parent, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var heads []task.Head
	for _, key := range m.kin.children[parent] {
		if key <= after || len(heads) == limit {
			continue
		}
		h, err := m.headLocked(key)
		if err != nil {
			return nil, fmt.Errorf("children of task %d: %w", parent, err)
		}
		heads = append(heads, h)
	}
	return heads, nil
}
