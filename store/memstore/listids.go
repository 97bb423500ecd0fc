package memstore

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/order"
	"github.com/parley-a2a/parley/task"
)

// listIDsLocked lists the tasks of sets whose ids have the prefix of q. It reads the heads of all
// tasks, because an index of ids would cost memory for each task.
func (m *Store) listIDsLocked(q *task.Query, sets []*sortedSet) (page task.ListPage, err error) {
	var after task.Head
	if q.After.Key != 0 {
		if after, err = m.headLocked(q.After.Key); err != nil {
			return page, fmt.Errorf("list tasks: continue after task %d: %w", q.After.Key, err)
		}
	}
	merge(sets, task.Cursor{}, func(c task.Cursor) bool {
		var h task.Head
		if h, err = m.headLocked(c.Key); err != nil {
			return false
		}
		if strings.HasPrefix(string(h.ID), q.IDPrefix) && (after.Key == 0 || compareIDs(&h, &after) > 0) {
			page.Heads = append(page.Heads, h)
		}
		if len(page.Heads) > 4*q.Limit {
			firstIDs(&page, q.Limit)
		}
		return true
	})
	if err != nil {
		return task.ListPage{}, fmt.Errorf("list tasks: %w", err)
	}
	firstIDs(&page, q.Limit)
	return page, nil
}

// firstIDs sorts a page, and drops what exceeds its limit.
func firstIDs(page *task.ListPage, limit int) {
	order.Sort(page.Heads, compareIDs)
	if len(page.Heads) > limit {
		page.Heads, page.More = page.Heads[:limit], true
	}
}

// compareIDs orders tasks by their ids, UUIDs first.
func compareIDs(a, b *task.Head) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Key, b.Key))
}

// rank is 0 for an id that is a UUID in its canonical form.
func rank(h *task.Head) int {
	if u, err := uuid.Parse(string(h.ID)); err == nil && u.String() == string(h.ID) {
		return 0
	}
	return 1
}
