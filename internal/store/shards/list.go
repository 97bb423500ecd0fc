package shards

import (
	"cmp"
	"context"
	"fmt"
	"math"
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
	s, err := t.of(ctx, q.Owner)
	if err == nil && s == nil && q.IDPrefix != "" && q.After.Key != 0 {
		err = fmt.Errorf("list tasks: %w", task.ErrNotFound)
	}
	if s == nil || err != nil {
		return page, err
	}
	return s.list(ctx, q)
}

// list lists tasks of a shard.
func (s *shard) list(ctx context.Context, q *task.Query) (page task.ListPage, err error) {
	here := *q
	if here.After, err = s.cursor(q); err != nil {
		return page, fmt.Errorf("list tasks: %w", err)
	}
	err = s.use(func(in pgstore.Tasks) (err error) {
		page, err = in.List(ctx, &here)
		return err
	})
	page.Heads = s.heads(page.Heads)
	return page, err
}

// cursor returns the position in a shard that follows a position in all shards.
func (s *shard) cursor(q *task.Query) (task.Cursor, error) {
	number, key := local(q.After.Key)
	switch at := q.After.At; {
	case q.After == (task.Cursor{}):
		return q.After, nil
	case number == s.number && (key != 0 || q.IDPrefix == ""):
		return task.Cursor{At: at, Key: key}, nil
	case q.IDPrefix != "":
		return task.Cursor{}, fmt.Errorf("continue after task %d: %w", q.After.Key, task.ErrNotFound)
	case number > s.number:
		return task.Cursor{At: at, Key: math.MaxInt64}, nil
	default: // no key is less
		return task.Cursor{At: at, Key: min(1, q.After.Key)}, nil
	}
}

func (Tasks) listOf(ctx context.Context, s *shard, q *task.Query) (task.ListPage, error) {
	return s.list(ctx, q)
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
		if page.Heads = append(page.Heads, here.Heads...); here.More && len(here.Heads) > 0 {
			ends = append(ends, here.Heads[len(here.Heads)-1])
		}
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
		end, _ := slices.BinarySearchFunc(page.Heads, ends[i], order)
		n = min(n, end+1)
	}
	page.More = n < len(page.Heads) || len(ends) > 0
	page.Heads = page.Heads[:n]
	return page, nil
}

func newestFirst(a, b task.Head) int {
	return cmp.Or(cmp.Compare(b.StatusAt, a.StatusAt), keyFirst(a, b))
}

func keyFirst(a, b task.Head) int { return cmp.Compare(b.Key, a.Key) }

// byID orders heads as a list of ids: UUIDs first. Tasks of one shard with the same id stay in order.
func byID(a, b task.Head) int {
	return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(a.ID, b.ID), cmp.Compare(shardOf(a.Key), shardOf(b.Key)))
}

func shardOf(key task.Key) int {
	number, _ := local(key)
	return number
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
	err := t.use(q.After.Key, func(in pgstore.Tasks, inside task.Key) (err error) {
		last, err = in.HeadOf(ctx, inside)
		return err
	})
	last.Key = q.After.Key
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, s *shard, q *task.Query) (task.ListPage, error) {
		if s.number == shardOf(last.Key) {
			return s.list(ctx, q)
		}
		here := *q
		for here.After = (task.Cursor{}); ; {
			page, err := s.list(ctx, &here)
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
