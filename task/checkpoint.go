package task

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// Checkpoints is the ability of a store to keep what a run has noted to go on from:
// Change.Checkpoint. A checkpoint goes with its task.
type Checkpoints interface {
	// Checkpoint returns the last checkpoint of a task, or nil if it has none.
	Checkpoint(ctx context.Context, key Key) ([]byte, error)
}

// Lineage says on whose behalf a task was made. Tasks of one lineage have one owner.
type Lineage struct {
	// Parent is the task that asked for it, Root the first one of the line.
	Parent, Root Key
	// Hops is how many tasks are between it and a caller, from 1.
	Hops int
}

// Lineages is the ability of a store to keep who asked for a task on behalf of which
// other task: Change.Lineage. It goes with the task that was asked for.
type Lineages interface {
	// Lineage returns that of a task; the zero Lineage if a caller asked for it.
	Lineage(ctx context.Context, key Key) (Lineage, error)
	// Children returns up to limit heads of tasks that have the parent, with keys above
	// after, in order of their keys.
	Children(ctx context.Context, parent, after Key, limit int) ([]Head, error)
}

var (
	_ Checkpoints = (*Memory)(nil)
	_ Lineages    = (*Memory)(nil)
)

// errLineage is a mistake of the caller of a store.
var errLineage = errors.New("lineage of a task that is not new, or without a parent")

// kinship is the lineages of a memory store. The zero kinship is empty.
type kinship struct {
	of       map[Key]Lineage
	children map[Key][]Key
}

func (k *kinship) put(key Key, l Lineage) {
	if k.of == nil {
		k.of = make(map[Key]Lineage)
		k.children = make(map[Key][]Key)
	}
	k.of[key] = l
	k.children[l.Parent] = append(k.children[l.Parent], key) // keys only grow
}

// forget drops the lineage of a task that is gone.
func (k *kinship) forget(key Key) {
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

// extrasLocked stores what came with a change that was stored.
func (m *Memory) extrasLocked(c *Change) {
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
			m.checkpoints = make(map[Key][]byte)
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

// Checkpoint implements Checkpoints.
func (m *Memory) Checkpoint(ctx context.Context, key Key) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("checkpoint of task %d: %w", key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return bytes.Clone(m.checkpoints[key]), nil
}

// Lineage implements Lineages.
func (m *Memory) Lineage(ctx context.Context, key Key) (Lineage, error) {
	if err := ctx.Err(); err != nil {
		return Lineage{}, fmt.Errorf("lineage of task %d: %w", key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.kin.of[key], nil
}

// Children implements Lineages.
func (m *Memory) Children(ctx context.Context, parent, after Key, limit int) ([]Head, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("children of task %d: %w", parent, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var heads []Head
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
