package shards

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/store/pgstore"
)

// Tasks is the store of tasks in all shards.
type Tasks struct{ *DB }

var _ task.Store = Tasks{}

// Append implements task.Log.
func (t Tasks) Append(ctx context.Context, c *task.Change) error {
	called := false
	err := t.at(ctx, c.Next.Owner, t.owners.place, func(s *shard) error {
		called = true
		return s.use(func(in pgstore.Tasks) error { return in.Append(ctx, c) })
	})
	switch {
	case err == nil:
		t.keys.add(c.Next.Key, c.Next.Owner)
	case !called:
		err = fmt.Errorf("append %s: %w", c.Next.ID, err)
	}
	return err
}

// Head implements task.Log.
func (t Tasks) Head(ctx context.Context, owner task.Owner, id a2a.TaskID) (task.Head, error) {
	return t.readHead(ctx, owner, func(in pgstore.Tasks) (task.Head, error) { return in.Head(ctx, owner, id) })
}

// readHead reads a head from the shard of an owner.
func (t Tasks) readHead(ctx context.Context, owner task.Owner, read func(pgstore.Tasks) (task.Head, error)) (h task.Head, err error) {
	err = t.ofOwner(ctx, owner, func(in pgstore.Tasks) (err error) {
		h, err = read(in)
		return err
	})
	if err == nil {
		t.keys.add(h.Key, h.Owner)
	}
	return h, err
}

// Read implements task.Log.
func (t Tasks) Read(ctx context.Context, key task.Key, after int64) (page []task.Entry, err error) {
	err = t.ofTask(ctx, key, func(in pgstore.Tasks) (err error) {
		page, err = in.Read(ctx, key, after)
		return err
	})
	return page, err
}

// Excerpts implements task.Excerpts.
func (t Tasks) Excerpts(ctx context.Context, at []task.Position, most int) ([]task.Entry, error) {
	all := make([]task.Entry, len(at))
	keys := make([]task.Key, len(at))
	for i := range at {
		keys[i] = at[i].Key
	}
	err := t.ofTasks(ctx, keys, func(s *shard, places []int) error {
		here := pick(at, places)
		return away(s.use(func(in pgstore.Tasks) error {
			found, err := in.Excerpts(ctx, here, most)
			for i := range found {
				all[places[i]] = found[i]
			}
			return err
		}))
	})
	return all, err
}

// Interrupted implements task.Index.
func (t Tasks) Interrupted(ctx context.Context, q *task.Query) (task.Head, error) {
	return t.readHead(ctx, q.Owner, func(in pgstore.Tasks) (task.Head, error) { return in.Interrupted(ctx, q) })
}

// ByAlias implements task.Aliases.
func (t Tasks) ByAlias(ctx context.Context, owner task.Owner, agent task.Agent, alias string) (task.Head, error) {
	return t.readHead(ctx, owner, func(in pgstore.Tasks) (task.Head, error) { return in.ByAlias(ctx, owner, agent, alias) })
}

// Request implements task.Requests.
func (t Tasks) Request(ctx context.Context, owner task.Owner, agent task.Agent, key string) (r task.Requested, err error) {
	h, err := t.readHead(ctx, owner, func(in pgstore.Tasks) (task.Head, error) {
		r, err = in.Request(ctx, owner, agent, key)
		return r.Head, err
	})
	r.Head = h
	return r, err
}

// Snapshot implements task.Snapshots.
func (t Tasks) Snapshot(ctx context.Context, key task.Key) (p task.Snapshot, err error) {
	err = t.ofTask(ctx, key, func(in pgstore.Tasks) (err error) {
		p, err = in.Snapshot(ctx, key)
		return err
	})
	return p, missing(err)
}

// missing is nil for a task that does not exist, where that is no error.
func missing(err error) error {
	if isMissing(err) {
		return nil
	}
	return err
}

func isMissing(err error) bool { return errors.Is(err, task.ErrNotFound) }

// SaveSnapshot implements task.Snapshots.
func (t Tasks) SaveSnapshot(ctx context.Context, key task.Key, p task.Snapshot) error {
	return missing(t.ofTask(ctx, key, func(in pgstore.Tasks) error { return in.SaveSnapshot(ctx, key, p) }))
}

// Sidecar implements task.Sidecars.
func (t Tasks) Sidecar(ctx context.Context, key task.Key, kind task.SidecarKind) (data []byte, err error) {
	err = t.ofTask(ctx, key, func(in pgstore.Tasks) (err error) {
		data, err = in.Sidecar(ctx, key, kind)
		return err
	})
	return data, missing(err)
}

// Sidecars implements task.Sidecars.
func (t Tasks) Sidecars(ctx context.Context, q *task.SidecarQuery) (all []task.Sidecar, err error) {
	p := keysFrom(q.After, q.Limit, func(s *task.Sidecar) *task.Head { return &s.Head })
	return pages(ctx, t.DB, p, func(in pgstore.Tasks, after task.Key) ([]task.Sidecar, error) {
		here := *q
		here.After = after
		return in.Sidecars(ctx, &here)
	})
}

// DropSidecar implements task.Sidecars.
func (t Tasks) DropSidecar(ctx context.Context, key task.Key, kind task.SidecarKind) error {
	return missing(t.ofTask(ctx, key, func(in pgstore.Tasks) error { return in.DropSidecar(ctx, key, kind) }))
}

// Journal implements task.Journals.
func (t Tasks) Journal(ctx context.Context, key task.Key, after int64) (all []task.Record, err error) {
	err = t.ofTask(ctx, key, func(in pgstore.Tasks) (err error) {
		all, err = in.Journal(ctx, key, after)
		return err
	})
	return all, missing(err)
}

// Probe implements task.Prober: the home must answer.
func (t Tasks) Probe(ctx context.Context) error { return t.home().tasks.Probe(ctx) }

// Revs implements engine.Heads. A task in a shard that does not answer is missing.
func (t Tasks) Revs(ctx context.Context, keys []task.Key) (map[task.Key]int64, error) {
	revs := make(map[task.Key]int64, len(keys))
	err := t.ofTasks(ctx, keys, func(s *shard, at []int) error {
		return away(s.use(func(in pgstore.Tasks) error {
			found, err := in.Revs(ctx, pick(keys, at))
			maps.Copy(revs, found)
			return err
		}))
	})
	return revs, err
}

// AtWork implements engine.Heads.
func (t Tasks) AtWork(ctx context.Context, owner task.Owner, own task.Holder, limit int) (n int, err error) {
	err = t.ofOwner(ctx, owner, func(in pgstore.Tasks) (err error) {
		n, err = in.AtWork(ctx, owner, own, limit)
		return err
	})
	return n, missing(err)
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
