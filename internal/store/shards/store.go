package shards

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/store/pgstore"
)

// Tasks is the store of tasks in all shards.
type Tasks struct{ *DB }

var _ task.Store = Tasks{}

// of returns the shard of an owner; nil if the owner has none yet, and so no tasks.
func (t Tasks) of(ctx context.Context, owner task.Owner) (*shard, error) {
	return t.owners.find(ctx, owner)
}

// with returns the shard of a task. A key that no shard can have is that of no task.
func (t Tasks) with(key task.Key) (*shard, task.Key, error) {
	number, inside := local(key)
	s := t.shard(number)
	if s == nil {
		return nil, 0, fmt.Errorf("task %d: %w", key, task.ErrNotFound)
	}
	return s, inside, nil
}

// Append implements task.Log.
func (t Tasks) Append(ctx context.Context, c *task.Change) error {
	s, err := t.owners.place(ctx, c.Next.Owner)
	if err != nil {
		return fmt.Errorf("append %s: %w", c.Next.ID, err)
	}
	// The caller may read its change while the store writes it.
	inside := *c
	inside.Prev.Key, inside.Next.Key = keyInside(c.Prev.Key), keyInside(c.Next.Key)
	kind := task.SidecarLineage
	inside.Sidecars[kind] = lineage(kind, c.Sidecars[kind], keyInside)
	if c.Hook != nil {
		hook := *c.Hook
		hook.Task = keyInside(hook.Task)
		inside.Hook = &hook
	}
	err = s.use(func(in pgstore.Tasks) error { return in.Append(ctx, &inside) })
	if err == nil {
		c.Next.Key = s.global(inside.Next.Key)
		if c.Hook != nil {
			c.Hook.Task = c.Next.Key
		}
	}
	return err
}

// Head implements task.Log.
func (t Tasks) Head(ctx context.Context, owner task.Owner, id a2a.TaskID) (task.Head, error) {
	return t.ofOwner(ctx, owner, func(in pgstore.Tasks) (task.Head, error) { return in.Head(ctx, owner, id) })
}

// ofOwner reads a head from the shard of an owner.
func (t Tasks) ofOwner(ctx context.Context, owner task.Owner, read func(pgstore.Tasks) (task.Head, error)) (h task.Head, err error) {
	s, err := t.of(ctx, owner)
	if err == nil && s == nil {
		err = task.ErrNotFound
	}
	if err != nil {
		return h, err
	}
	err = s.use(func(in pgstore.Tasks) (err error) {
		h, err = read(in)
		return err
	})
	return s.head(h), err
}

// Read implements task.Log.
func (t Tasks) Read(ctx context.Context, key task.Key, after int64) (page []task.Entry, err error) {
	err = t.use(key, func(in pgstore.Tasks, inside task.Key) (err error) {
		page, err = in.Read(ctx, inside, after)
		return err
	})
	return page, err
}

// use uses the shard of a task.
func (t Tasks) use(key task.Key, f func(in pgstore.Tasks, inside task.Key) error) error {
	s, inside, err := t.with(key)
	if err != nil {
		return err
	}
	return s.use(func(in pgstore.Tasks) error { return f(in, inside) })
}

// Excerpts implements task.Excerpts.
func (t Tasks) Excerpts(ctx context.Context, at []task.Position, most int) ([]task.Entry, error) {
	all := make([]task.Entry, len(at))
	err := t.each(func(s *shard) error {
		var here []task.Position
		var places []int
		for i, p := range at {
			if number, inside := local(p.Key); number == s.number {
				here, places = append(here, task.Position{Key: inside, Version: p.Version}), append(places, i)
			}
		}
		if len(here) == 0 {
			return nil
		}
		return s.use(func(in pgstore.Tasks) error {
			found, err := in.Excerpts(ctx, here, most)
			for i := range found {
				all[places[i]] = found[i]
			}
			return err
		})
	})
	return all, err
}

// Interrupted implements task.Index.
func (t Tasks) Interrupted(ctx context.Context, q *task.Query) (task.Head, error) {
	return t.ofOwner(ctx, q.Owner, func(in pgstore.Tasks) (task.Head, error) { return in.Interrupted(ctx, q) })
}

// ByAlias implements task.Aliases.
func (t Tasks) ByAlias(ctx context.Context, owner task.Owner, agent task.Agent, alias string) (task.Head, error) {
	return t.ofOwner(ctx, owner, func(in pgstore.Tasks) (task.Head, error) { return in.ByAlias(ctx, owner, agent, alias) })
}

// Request implements task.Requests.
func (t Tasks) Request(ctx context.Context, owner task.Owner, agent task.Agent, key string) (r task.Requested, err error) {
	h, err := t.ofOwner(ctx, owner, func(in pgstore.Tasks) (task.Head, error) {
		r, err = in.Request(ctx, owner, agent, key)
		return r.Head, err
	})
	r.Head = h
	return r, err
}

// Snapshot implements task.Snapshots.
func (t Tasks) Snapshot(ctx context.Context, key task.Key) (p task.Snapshot, err error) {
	err = t.use(key, func(in pgstore.Tasks, inside task.Key) (err error) {
		p, err = in.Snapshot(ctx, inside)
		return err
	})
	return p, missing(err)
}

// missing is nil for a task that does not exist, where that is no error.
func missing(err error) error {
	if errors.Is(err, task.ErrNotFound) {
		return nil
	}
	return err
}

// SaveSnapshot implements task.Snapshots.
func (t Tasks) SaveSnapshot(ctx context.Context, key task.Key, p task.Snapshot) error {
	return missing(t.use(key, func(in pgstore.Tasks, inside task.Key) error { return in.SaveSnapshot(ctx, inside, p) }))
}

// Sidecar implements task.Sidecars.
func (t Tasks) Sidecar(ctx context.Context, key task.Key, kind task.SidecarKind) (data []byte, err error) {
	s, inside, err := t.with(key)
	if err != nil {
		return nil, missing(err)
	}
	err = s.use(func(in pgstore.Tasks) (err error) {
		data, err = in.Sidecar(ctx, inside, kind)
		return err
	})
	return lineage(kind, data, s.global), err
}

// Sidecars implements task.Sidecars. The children of a task are in its shard.
func (t Tasks) Sidecars(ctx context.Context, q *task.SidecarQuery) ([]task.Sidecar, error) {
	return pages(t.DB, q.After, q.Limit, func(s *shard, in pgstore.Tasks, after task.Key, limit int) ([]task.Sidecar, error) {
		number, parent := local(q.Parent)
		if q.Parent != 0 && number != s.number {
			return nil, nil
		}
		all, err := in.Sidecars(ctx, &task.SidecarQuery{Kind: q.Kind, Parent: parent, After: after, Limit: limit})
		for i := range all {
			all[i].Head, all[i].Data = s.head(all[i].Head), lineage(q.Kind, all[i].Data, s.global)
		}
		return all, err
	})
}

// DropSidecar implements task.Sidecars.
func (t Tasks) DropSidecar(ctx context.Context, key task.Key, kind task.SidecarKind) error {
	return missing(t.use(key, func(in pgstore.Tasks, inside task.Key) error { return in.DropSidecar(ctx, inside, kind) }))
}

// Journal implements task.Journals.
func (t Tasks) Journal(ctx context.Context, key task.Key, after int64) (all []task.Record, err error) {
	err = t.use(key, func(in pgstore.Tasks, inside task.Key) (err error) {
		all, err = in.Journal(ctx, inside, after)
		return err
	})
	return all, missing(err)
}

// Probe implements task.Prober: the home must answer.
func (t Tasks) Probe(ctx context.Context) error { return t.home().tasks.Probe(ctx) }

// Revs implements engine.Heads. A task in a shard that does not answer is missing.
func (t Tasks) Revs(ctx context.Context, keys []task.Key) (map[task.Key]int64, error) {
	revs := make(map[task.Key]int64, len(keys))
	err := t.each(func(s *shard) error {
		var here []task.Key
		for _, key := range keys {
			if number, inside := local(key); number == s.number {
				here = append(here, inside)
			}
		}
		if len(here) == 0 {
			return nil
		}
		return s.use(func(in pgstore.Tasks) error {
			found, err := in.Revs(ctx, here)
			for key, rev := range found {
				revs[s.global(key)] = rev
			}
			return err
		})
	})
	return revs, err
}

// AtWork implements engine.Heads.
func (t Tasks) AtWork(ctx context.Context, owner task.Owner, own task.Holder, limit int) (n int, err error) {
	s, err := t.of(ctx, owner)
	if s == nil || err != nil {
		return 0, err
	}
	err = s.use(func(in pgstore.Tasks) (err error) {
		n, err = in.AtWork(ctx, owner, own, limit)
		return err
	})
	return n, err
}

// States implements hub.Census.
func (t Tasks) States(ctx context.Context) (map[task.State]int, error) {
	all := make(map[task.State]int)
	err := t.each(func(s *shard) error {
		return s.use(func(in pgstore.Tasks) error {
			states, err := in.States(ctx)
			for state, n := range states {
				all[state] += n
			}
			return err
		})
	})
	return all, err
}
