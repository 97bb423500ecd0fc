package inbox

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Memory is a Store that keeps its items in memory. The zero Memory is empty and ready to use.
// It is safe for concurrent use.
type Memory struct {
	mu    sync.Mutex // guards the fields below
	items []*Item    // oldest first
	byID  map[ID]*Item
}

var (
	_ Store   = (*Memory)(nil)
	_ Sweeper = (*Memory)(nil)
)

// PutItem implements Store.
func (m *Memory) PutItem(ctx context.Context, it *Item) (Item, bool, error) {
	if err := it.Check(); err != nil {
		return Item{}, false, err
	}
	if ctx.Err() != nil {
		return Item{}, false, context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.byID[it.ID]; old != nil {
		return *old, false, nil
	}
	c := *it
	c.Created, c.Expires = millis(c.Created), millis(c.Expires)
	if m.byID == nil {
		m.byID = make(map[ID]*Item)
	}
	m.byID[c.ID] = &c
	m.items = append(m.items, &c)
	return c, true, nil
}

// SettleItem implements Store.
func (m *Memory) SettleItem(ctx context.Context, id ID, s *Settlement) (Item, error) {
	if err := s.Check(); err != nil {
		return Item{}, err
	}
	if ctx.Err() != nil {
		return Item{}, context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	it := m.byID[id]
	if it == nil {
		return Item{}, ErrNotFound
	}
	next, err := it.Settles(s)
	if err == nil {
		*it = next
	}
	return next, err
}

// Items implements Store.
func (m *Memory) Items(ctx context.Context, q *Query) ([]Item, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []Item
	if q.After != "" && m.byID[q.After] == nil {
		return nil, ctx.Err()
	}
	behind := q.After == ""
	for _, it := range m.orderedLocked(q) {
		if behind && q.matches(it) {
			if found = append(found, *it); len(found) == q.PageSize() {
				break
			}
		}
		behind = behind || it.ID == q.After
	}
	return found, ctx.Err()
}

// orderedLocked returns all items in the order that q requests.
func (m *Memory) orderedLocked(q *Query) []*Item {
	all := slices.Clone(m.items)
	if q.ByExpiry() {
		slices.SortStableFunc(all, func(a, b *Item) int { return a.Expires.Compare(b.Expires) })
		return all
	}
	slices.Reverse(all)
	return all
}

// SweepItems implements Sweeper.
func (m *Memory) SweepItems(ctx context.Context, before time.Time, limit int) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	m.items = slices.DeleteFunc(m.items, func(it *Item) bool {
		if n >= limit || it.State == Open || !it.Settled.Before(before) {
			return false
		}
		delete(m.byID, it.ID)
		n++
		return true
	})
	return n, ctx.Err()
}
