package shards

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/parley-a2a/parley/internal/store/sqlstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/store/pgstore"
)

// List implements task.Index. A list of all owners is merged, without the shards that do not answer.
func (t Tasks) List(ctx context.Context, q *task.Query) (page task.ListPage, err error) {
	if err := q.Check(); err != nil || q.Limit <= 0 {
		return t.home().tasks.List(ctx, q) // its error
	}
	if q.AllOwners {
		return t.merged(ctx, q)
	}
	placed := false
	err = t.at(ctx, q.Owner, t.owners.find, func(s *shard) error {
		placed = true
		page, err = t.listOf(ctx, s, q)
		return err
	})
	if !placed && isMissing(err) && (q.IDPrefix == "" || q.After.Key == 0) {
		err = nil
	}
	return page, err
}

// listOf lists tasks of a shard.
func (t Tasks) listOf(ctx context.Context, s *shard, q *task.Query) (page task.ListPage, err error) {
	err = s.use(func(in pgstore.Tasks) (err error) {
		page, err = in.List(ctx, q)
		return err
	})
	t.keys.addAll(page.Heads)
	return page, err
}

// merged lists tasks of all owners.
func (t Tasks) merged(ctx context.Context, q *task.Query) (page task.ListPage, err error) {
	order, list := newestFirst, t.listOf
	switch {
	case q.Text != "":
		order = keyFirst
	case q.IDPrefix != "":
		order = byID
		if list, err = t.listIDs(ctx, q); err != nil {
			return page, fmt.Errorf("list tasks: %w", err)
		}
	}
	var ends []task.Head // the last heads of the shards that have more
	err = t.each(func(s *shard) error {
		here, err := list(ctx, s, q)
		if err != nil {
			return err
		}
		if here.More && len(here.Heads) > 0 {
			ends = append(ends, here.Heads[len(here.Heads)-1])
		}
		heads, err := t.placed(ctx, s, here.Heads)
		if err != nil {
			return err
		}
		page.Heads = append(page.Heads, heads...)
		page.Total += here.Total
		page.Partial = page.Partial || here.Partial
		return nil
	})
	if err != nil {
		return task.ListPage{}, err
	}
	slices.SortFunc(page.Heads, order)
	if q.Since > 0 {
		page.Total = min(page.Total, task.MaxTotal+1)
	}
	n := min(len(page.Heads), q.Limit)
	for i := range ends { // heads after it may follow
		end, found := slices.BinarySearchFunc(page.Heads, ends[i], order)
		if found {
			end++
		}
		n = min(n, end)
	}
	page.More = n < len(page.Heads) || len(ends) > 0
	page.Heads = page.Heads[:n]
	return page, nil
}

func newestFirst(a, b task.Head) int {
	return cmp.Or(cmp.Compare(b.StatusAt, a.StatusAt), keyFirst(a, b))
}

func keyFirst(a, b task.Head) int { return cmp.Compare(b.Key, a.Key) }

// byID orders heads as a list of ids: UUIDs first.
func byID(a, b task.Head) int {
	return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Key, b.Key))
}

func rank(h *task.Head) int {
	if _, uuid := sqlstore.PackUUID(string(h.ID)); uuid {
		return 0
	}
	return 1
}

// listIDs returns a function that lists the tasks of a shard by their ids. Shards without the task after which
// the list continues are read from the beginning: operators complete ids, of which few begin in the same way.
func (t Tasks) listIDs(ctx context.Context, q *task.Query) (func(context.Context, *shard, *task.Query) (task.ListPage, error), error) {
	if q.After.Key == 0 {
		return t.listOf, nil
	}
	var last task.Head
	err := t.ofTask(ctx, q.After.Key, func(in pgstore.Tasks) error {
		found, err := in.HeadsOf(ctx, []task.Key{q.After.Key})
		if err == nil && len(found) == 0 {
			err = task.ErrNotFound
		}
		if err == nil {
			last = found[0]
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, s *shard, q *task.Query) (task.ListPage, error) {
		here := *q
		for here.After = (task.Cursor{}); ; {
			page, err := t.listOf(ctx, s, &here)
			if err != nil || len(page.Heads) == 0 {
				return page, err
			}
			here.After.Key = page.Heads[len(page.Heads)-1].Key
			page.Heads = slices.DeleteFunc(page.Heads, func(h task.Head) bool { return byID(h, last) <= 0 })
			if len(page.Heads) > 0 || !page.More {
				return page, nil
			}
		}
	}, nil
}
