package memstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/task"
)

// listing holds the listed tasks of an owner, grouped by agent and state. Every list of the protocol
// is a merge of a few of its groups, and every total a sum of their lengths.
type listing map[group]*ordered

type group struct {
	agent task.Agent
	state task.State
}

// listKey is the position of a task in a listing. The zero listKey is none.
type listKey struct {
	group
	at task.Cursor
}

// listKeyOf returns the position at which h is listed.
func listKeyOf(h *task.Head) listKey {
	if h.Key == 0 || h.Visibility != task.Visible {
		return listKey{}
	}
	return listKey{group{h.Agent, h.State}, task.Cursor{At: h.StatusAt, Key: h.Key}}
}

// move moves a task from one position to another.
func (s listing) move(was, is listKey) {
	if was == is {
		return
	}
	if o := s[was.group]; o != nil && was.at.Key != 0 {
		if o.remove(was.at); len(*o) == 0 {
			delete(s, was.group)
		}
	}
	if is.at.Key != 0 {
		if s[is.group] == nil {
			s[is.group] = new(ordered)
		}
		s[is.group].insert(is.at)
	}
}

// choose adds the sets of the groups with the agent, unless it is empty, whose state matches.
func (s listing) choose(sets []ordered, agent task.Agent, match func(task.State) bool) []ordered {
	for g, o := range s {
		if (agent == "" || g.agent == agent) && match(g.state) {
			sets = append(sets, *o)
		}
	}
	return sets
}

// total returns the number of cursors in the sets that are not before since.
func total(sets []ordered, since task.Millis) int {
	n := 0
	for _, o := range sets {
		n += len(o)
		if since != 0 {
			n -= len(o.before(task.Cursor{At: since}))
		}
	}
	if since != 0 {
		return min(n, task.MaxTotal+1)
	}
	return n
}

// merge calls yield for the cursors of the sets below c, newest first, until yield returns
// false.
func merge(sets []ordered, c task.Cursor, yield func(task.Cursor) bool) {
	rest := make([]ordered, len(sets))
	for i, o := range sets {
		rest[i] = o.before(c)
	}
	for {
		newest, from := task.Cursor{}, -1
		for i, o := range rest {
			if n := len(o); n > 0 && (from < 0 || compareCursors(o[n-1], newest) > 0) {
				newest, from = o[n-1], i
			}
		}
		if from < 0 || !yield(newest) {
			return
		}
		rest[from] = rest[from][:len(rest[from])-1]
	}
}

// setsLocked returns the sets that contain the tasks of q whose state matches.
func (m *Store) setsLocked(q *task.Query, match func(task.State) bool) []ordered {
	switch {
	case q.AllOwners:
		var sets []ordered
		for _, s := range m.owners {
			sets = s.choose(sets, q.Agent, match)
		}
		return sets
	case q.ContextID == "":
		return m.owners[q.Owner].choose(nil, q.Agent, match)
	}
	var chosen ordered
	if t := m.threads[contextID{q.Owner, q.ContextID}]; t != nil {
		for _, c := range t.listed {
			if h := &m.tasks[c.Key].head; (q.Agent == "" || h.Agent == q.Agent) && match(h.State) {
				chosen = append(chosen, c)
			}
		}
	}
	return []ordered{chosen}
}

// List implements task.Index.
func (m *Store) List(ctx context.Context, q *task.Query) (task.ListPage, error) {
	if err := errors.Join(ctx.Err(), q.Check()); err != nil {
		return task.ListPage{}, fmt.Errorf("list tasks: %w", err)
	}
	if q.Text != "" {
		return m.listText(ctx, q)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	sets := m.setsLocked(q, func(s task.State) bool { return q.State == task.Unspecified || s == q.State })
	if q.IDPrefix != "" {
		return m.listIDsLocked(q, sets)
	}
	page := task.ListPage{Total: total(sets, q.Since)}
	page.Heads = make([]task.Head, 0, min(page.Total, q.Limit))
	merge(sets, q.After, func(c task.Cursor) bool {
		if c.At < q.Since {
			return false
		}
		if len(page.Heads) == q.Limit {
			page.More = true
			return false
		}
		page.Heads = append(page.Heads, m.tasks[c.Key].head)
		return true
	})
	return page, nil
}

// Interrupted implements task.Index.
func (m *Store) Interrupted(ctx context.Context, q *task.Query) (task.Head, error) {
	if err := ctx.Err(); err != nil {
		return task.Head{}, fmt.Errorf("find interrupted task: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var key task.Key
	merge(m.setsLocked(q, task.State.Interrupted), task.Cursor{}, func(c task.Cursor) bool {
		key = c.Key
		return false
	})
	h, err := m.headLocked(key)
	if err != nil {
		return task.Head{}, fmt.Errorf("find interrupted task of context %s: %w", q.ContextID, err)
	}
	return h, nil
}

// listIDsLocked lists the tasks of sets whose ids have the prefix of q. It reads the heads of all
// tasks, because an index of ids would cost memory for each task.
func (m *Store) listIDsLocked(q *task.Query, sets []ordered) (page task.ListPage, err error) {
	var after task.Head
	if q.After.Key != 0 {
		if after, err = m.headLocked(q.After.Key); err != nil {
			return page, fmt.Errorf("list tasks: continue after task %d: %w", q.After.Key, err)
		}
	}
	for _, o := range sets {
		for _, c := range o {
			h := &m.tasks[c.Key].head
			if strings.HasPrefix(string(h.ID), q.IDPrefix) && (after.Key == 0 || compareIDs(*h, after) > 0) {
				page.Heads = append(page.Heads, *h)
			}
		}
	}
	slices.SortFunc(page.Heads, compareIDs)
	if len(page.Heads) > q.Limit {
		page.Heads, page.More = page.Heads[:q.Limit], true
	}
	return page, nil
}

// compareIDs orders tasks by their ids, UUIDs first.
func compareIDs(a, b task.Head) int {
	return cmp.Or(cmp.Compare(rank(a.ID), rank(b.ID)), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Key, b.Key))
}

// rank is 0 for an id that is a UUID in its canonical form.
func rank(id a2a.TaskID) int {
	if u, err := uuid.Parse(string(id)); err == nil && u.String() == string(id) {
		return 0
	}
	return 1
}
