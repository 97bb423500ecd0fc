package shards

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/task"
)

// members are the members as the home knew them at the last renewal.
type members struct {
	mu      sync.Mutex // guards the fields below
	holders map[task.Holder]bool
	own     task.Holder
	lasts   time.Duration
}

func (m *members) knows(h task.Holder) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.holders[h]
}

func (m *members) holder() task.Holder {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.own
}

func (m *members) lease() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lasts
}

// Renew implements keeper.Table: the home decides. The other shards follow.
func (db *DB) Renew(ctx context.Context, r cluster.Renewal) ([]cluster.Member, error) {
	all, err := db.home().db.Renew(ctx, r)
	if err != nil {
		return nil, err
	}
	db.mu.Lock()
	db.holders, db.lasts = make(map[task.Holder]bool, len(all)), r.Lease
	for i := range all {
		db.holders[all[i].Holder] = true
	}
	db.mu.Unlock()
	for _, s := range db.all[1:] {
		s.renewed.Send()
	}
	db.changed.Send() // a hint may have been lost
	return all, nil
}

// Rejoin implements keeper.Table.
func (db *DB) Rejoin(ctx context.Context, holder task.Holder) error {
	// Owners may have moved while this hub was lost. An operation that knows a former place must not write there as
	// one of the new membership.
	resume, err := db.owners.pause(ctx)
	if err != nil {
		return fmt.Errorf("join again: %w", err)
	}
	defer resume()
	db.owners.forget()
	if err := db.home().db.Rejoin(ctx, holder); err != nil {
		return err
	}
	db.mu.Lock()
	db.own = holder
	db.mu.Unlock()
	if err := db.sync(ctx); err != nil {
		return err
	}
	for _, s := range db.all[1:] {
		if !s.away.Load() {
			_ = s.met(s.rejoin(ctx, holder)) // keep tries again
		}
	}
	return nil
}

// Lose implements keeper.Table. Hubs whose leases have ended are ended in the home last: from then on, others
// take over their tasks.
func (db *DB) Lose(ctx context.Context) (int, error) {
	all, err := db.home().db.Members(ctx)
	if err != nil {
		return 0, err
	}
	late := make(map[task.Holder]bool)
	for i := range all {
		if all[i].Lease < 0 && all[i].Holder != db.holder() {
			late[all[i].Holder] = true
		}
	}
	for _, s := range db.all[1:] {
		if !s.away.Load() && len(late) > 0 {
			_ = s.met(s.end(ctx, late)) // keep ends them before the shard is used again
		}
	}
	return db.home().db.Lose(ctx)
}

// end ends the memberships of holders in the shard.
func (s *shard) end(ctx context.Context, late map[task.Holder]bool) error {
	all, err := s.db.Members(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		if late[all[i].Holder] {
			if err := s.db.End(ctx, all[i].Epoch); err != nil {
				return err
			}
		}
	}
	return nil
}

// Polls reports that Listen works: Open refuses poolers.
func (db *DB) Polls() bool { return false }

// Listen passes the hints of other hubs to f until ctx ends or the home fails.
func (db *DB) Listen(ctx context.Context, f func(cluster.Hint)) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for _, s := range db.all[1:] {
		wg.Go(func() {
			for {
				_ = s.met(s.db.Listen(ctx, func(h cluster.Hint) {
					h.Members = false // of a shard, they mean nothing
					f(h)
				})) // begins with a hint that names all
				if backoff.Sleep(ctx, tryEvery/4) != nil {
					return
				}
			}
		})
	}
	return db.home().db.Listen(ctx, func(h cluster.Hint) {
		if h.Data || h.Members || h.Regular {
			db.changed.Send()
		}
		f(h)
	})
}
