package memstore

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/parley-a2a/parley/task"
)

// markTable holds the marks of a store. The zero markTable is empty.
type markTable struct {
	marks map[task.Key][]byte
	// keys are the keys of marks, sorted.
	keys []task.Key
}

func (b *markTable) put(key task.Key, mark []byte) {
	if b.marks == nil {
		b.marks = make(map[task.Key][]byte)
	}
	if _, there := b.marks[key]; !there {
		i, _ := slices.BinarySearch(b.keys, key)
		b.keys = slices.Insert(b.keys, i, key)
	}
	b.marks[key] = bytes.Clone(mark)
}

func (b *markTable) forget(key task.Key) {
	if _, there := b.marks[key]; !there {
		return
	}
	delete(b.marks, key)
	i, _ := slices.BinarySearch(b.keys, key)
	b.keys = slices.Delete(b.keys, i, i+1)
}

// markedLocked returns the marked task with a key.
func (m *Store) markedLocked(key task.Key) (task.Marked, error) {
	mark, there := m.marks.marks[key]
	if !there {
		return task.Marked{}, task.ErrNotFound
	}
	h, err := m.headLocked(key)
	return task.Marked{Head: h, Mark: bytes.Clone(mark)}, err
}

// Marked implements task.Marks.
func (m *Store) Marked(ctx context.Context, after task.Key, limit int) ([]task.Marked, error) {
	if err := checkPage(ctx, limit); err != nil {
		return nil, fmt.Errorf("marked tasks: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	i, found := slices.BinarySearch(m.marks.keys, after)
	if found {
		i++
	}
	var all []task.Marked
	for _, key := range m.marks.keys[i:] {
		if len(all) == limit {
			break
		}
		one, err := m.markedLocked(key)
		if err != nil {
			return nil, fmt.Errorf("marked tasks: %w", err)
		}
		all = append(all, one)
	}
	return all, nil
}

// Mark implements task.Marks.
func (m *Store) Mark(ctx context.Context, key task.Key) (task.Marked, error) {
	if err := ctx.Err(); err != nil {
		return task.Marked{}, fmt.Errorf("mark of task %d: %w", key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	one, err := m.markedLocked(key)
	if err != nil {
		return task.Marked{}, fmt.Errorf("mark of task %d: %w", key, err)
	}
	return one, nil
}

// Unmark implements task.Marks.
func (m *Store) Unmark(ctx context.Context, key task.Key) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("unmark task %d: %w", key, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.marks.forget(key)
	return nil
}
