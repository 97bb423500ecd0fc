package task

import (
	"bytes"
	"context"
	"fmt"
	"slices"
)

// Marked is a task with its mark.
type Marked struct {
	Head Head
	// Mark is what Change.Mark was; nobody but who made it reads it.
	Mark []byte
}

// Marks is the ability of a store to remember that something is to be done about a task
// when it has ended: Change.Mark. A mark goes with its task.
type Marks interface {
	// Marked returns up to limit marked tasks of every owner, with keys above after, in
	// order of their keys.
	Marked(ctx context.Context, after Key, limit int) ([]Marked, error)
	// Mark returns a marked task, or ErrNotFound.
	Mark(ctx context.Context, key Key) (Marked, error)
	// Unmark forgets a mark, durably. If there is none, nothing happens.
	Unmark(ctx context.Context, key Key) error
}

var _ Marks = (*Memory)(nil)

// markBook is the marks of a memory store. The zero markBook is empty.
type markBook struct {
	marks map[Key][]byte
	// keys are those of marks, in order.
	keys []Key
}

func (b *markBook) put(key Key, mark []byte) {
	if b.marks == nil {
		b.marks = make(map[Key][]byte)
	}
	if _, there := b.marks[key]; !there {
		i, _ := slices.BinarySearch(b.keys, key)
		b.keys = slices.Insert(b.keys, i, key)
	}
	b.marks[key] = bytes.Clone(mark)
}

func (b *markBook) forget(key Key) {
	if _, there := b.marks[key]; !there {
		return
	}
	delete(b.marks, key)
	i, _ := slices.BinarySearch(b.keys, key)
	b.keys = slices.Delete(b.keys, i, i+1)
}

// markedLocked returns the marked task with a key.
func (m *Memory) markedLocked(key Key) (Marked, error) {
	mark, there := m.marks.marks[key]
	if !there {
		return Marked{}, ErrNotFound
	}
	h, err := m.headLocked(key)
	return Marked{h, bytes.Clone(mark)}, err
}

// Marked implements Marks.
func (m *Memory) Marked(ctx context.Context, after Key, limit int) ([]Marked, error) {
	if err := checkPage(ctx, limit); err != nil {
		return nil, fmt.Errorf("marked tasks: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	i, found := slices.BinarySearch(m.marks.keys, after)
	if found {
		i++
	}
	var all []Marked
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

// Mark implements Marks.
func (m *Memory) Mark(ctx context.Context, key Key) (Marked, error) {
	if err := ctx.Err(); err != nil {
		return Marked{}, fmt.Errorf("mark of task %d: %w", key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	one, err := m.markedLocked(key)
	if err != nil {
		return Marked{}, fmt.Errorf("mark of task %d: %w", key, err)
	}
	return one, nil
}

// Unmark implements Marks.
func (m *Memory) Unmark(ctx context.Context, key Key) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("unmark task %d: %w", key, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.marks.forget(key)
	return nil
}
