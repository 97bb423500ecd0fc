package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/task"
)

// MemNotes is an in-memory Store. The zero MemNotes is ready to use. It is safe for concurrent
// use.
type MemNotes struct {
	mu     sync.Mutex // guards owners
	owners map[task.Owner]map[string]*Note
}

var (
	_ Store   = (*MemNotes)(nil)
	_ Sweeper = (*MemNotes)(nil)
)

// Put implements Store.
func (m *MemNotes) Put(ctx context.Context, n *Note, room Quota) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	notes := m.owners[n.Owner]
	if notes == nil {
		notes = make(map[string]*Note)
		if m.owners == nil {
			m.owners = make(map[task.Owner]map[string]*Note)
		}
		m.owners[n.Owner] = notes
	}
	mine := n.clone()
	was := notes[n.Key]
	if was != nil && was.ExpiresAt.After(n.UpdatedAt) {
		mine.CreatedAt = was.CreatedAt
	}
	notes[n.Key] = &mine
	if was != nil {
		return 0, nil
	}
	space := Namespace(n.Key)
	dropped := dropBeyond(notes, &mine, room.Namespace, func(key string) bool { return Namespace(key) == space })
	return dropped + dropBeyond(notes, &mine, room.Owner, func(string) bool { return true }), nil
}

// dropBeyond drops the notes that expire first, except but, until at most room of the counted
// ones remain.
func dropBeyond(notes map[string]*Note, but *Note, room int, counts func(key string) bool) int {
	if room <= 0 || len(notes) <= room {
		return 0
	}
	var some []*Note
	for key, n := range notes {
		if n != but && counts(key) {
			some = append(some, n)
		}
	}
	slices.SortFunc(some, func(a, b *Note) int {
		return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), strings.Compare(a.Key, b.Key))
	})
	over := max(len(some)+1-room, 0)
	for _, n := range some[:min(over, len(some))] {
		delete(notes, n.Key)
	}
	return min(over, len(some))
}

// has reports whether r selects n.
func (r *Range) has(n *Note) bool {
	return (r.Key == "" || n.Key == r.Key) && strings.HasPrefix(n.Key, r.Prefix) && n.Key > r.After &&
		strings.HasPrefix(n.Category, r.Category) && n.ExpiresAt.After(r.At)
}

func (r *Range) check() error {
	if r.Limit <= 0 {
		return fmt.Errorf("limit %d must be positive", r.Limit)
	}
	return nil
}

// chosenLocked returns the notes selected by r, sorted by key.
func (m *MemNotes) chosenLocked(r *Range) []*Note {
	var some []*Note
	for _, n := range m.owners[r.Owner] {
		if r.has(n) {
			some = append(some, n)
		}
	}
	slices.SortFunc(some, func(a, b *Note) int { return strings.Compare(a.Key, b.Key) })
	return some[:min(len(some), r.Limit)]
}

// Read implements Store.
func (m *MemNotes) Read(ctx context.Context, r *Range) ([]Note, error) {
	if err := cmp.Or(r.check(), ctx.Err()); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []Note
	for _, n := range m.chosenLocked(r) {
		c := n.clone()
		c.Value = Cut(c.Value, r.Clip)
		found = append(found, c)
	}
	return found, nil
}

// Cut returns the first most characters of a text, all of it if most is zero. It is a helper
// for stores.
func Cut(text string, most int) string {
	if most <= 0 {
		return text
	}
	for i := range text {
		if most == 0 {
			return text[:i]
		}
		most--
	}
	return text
}

// Drop implements Store.
func (m *MemNotes) Drop(ctx context.Context, r *Range) (int, error) {
	if err := cmp.Or(r.check(), ctx.Err()); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	some := m.chosenLocked(r)
	for _, n := range some {
		delete(m.owners[r.Owner], n.Key)
	}
	return len(some), nil
}

// Sweep implements Sweeper.
func (m *MemNotes) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	swept := 0
	for owner, notes := range m.owners {
		for key, n := range notes {
			if swept < limit && n.ExpiresAt.Before(before) {
				delete(notes, key)
				swept++
			}
		}
		if len(notes) == 0 {
			delete(m.owners, owner)
		}
	}
	return swept, ctx.Err()
}
