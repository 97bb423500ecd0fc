package memstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/tasktext"
)

// IndexTexts implements task.Texts. There is no index: a search reads the texts of all tasks.
func (m *Store) IndexTexts(context.Context, int) (more bool, err error) { return false, nil }

// listText lists the tasks that contain all words of a text. It reads them without the lock.
func (m *Store) listText(ctx context.Context, q *task.Query) (page task.ListPage, err error) {
	words := tasktext.Words(q.Text)
	if len(words) == 0 {
		return page, nil
	}
	for _, c := range m.candidates(q) {
		if err := ctx.Err(); err != nil {
			return task.ListPage{}, fmt.Errorf("list tasks: %w", err)
		}
		m.mu.RLock()
		r := m.tasks[c.Key]
		var h task.Head
		var entries []task.Entry
		if r != nil {
			h, entries = r.head, r.entries
		}
		m.mu.RUnlock()
		if r == nil || !contains(&h, entries, words) {
			continue
		}
		if len(page.Heads) == q.Limit {
			page.More = true
			break
		}
		page.Heads = append(page.Heads, h)
	}
	return page, nil
}

// candidates returns the tasks of a query, regardless of their texts, in the order of the list.
func (m *Store) candidates(q *task.Query) (all []task.Cursor) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, o := range m.setsLocked(q, func(s task.State) bool { return q.State == task.Unspecified || s == q.State }) {
		for _, c := range o {
			if c.At >= q.Since && (q.After.At == 0 || c.At < q.After.At) && (q.After.Key == 0 || c.Key < q.After.Key) {
				all = append(all, c)
			}
		}
	}
	slices.SortFunc(all, func(a, b task.Cursor) int { return cmp.Compare(b.Key, a.Key) })
	return all
}

func contains(h *task.Head, entries []task.Entry, words []string) bool {
	var text tasktext.Text
	text.Content(h.StatusMessage)
	for i := 0; i < len(entries) && !text.Full(); i++ {
		text.Add(&entries[i])
	}
	have := text.Words()
	return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(have, w) })
}
