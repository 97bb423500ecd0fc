package shards

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/store/pgstore"
)

// tryEvery is the time between two attempts to use a shard that does not answer.
const tryEvery = time.Second

// shard is one of the databases.
type shard struct {
	number int
	db     *pgstore.DB
	tasks  pgstore.Tasks
	// away is set while the shard does not answer. The home never is: without it, all fails.
	away atomic.Bool
	// drained is set while the shard gets no new owners, and left once an owner has moved to another one.
	drained, left atomic.Bool
	// failed signals that an operation has failed, and renewed that the home knows the members.
	failed, renewed wake.Signal
	// holder is that of the membership; only the goroutine that runs keep and Rejoin use it.
	holder atomic.Pointer[task.Holder]
}

// use lets f use the shard, unless the shard is known not to answer.
func (s *shard) use(f func(in pgstore.Tasks) error) error {
	if s.away.Load() {
		return fmt.Errorf("%w: database %s", task.ErrPartly, s.db.Name())
	}
	return s.met(f(s.tasks))
}

// met makes the error of a shard that does not answer one of the store in part.
func (s *shard) met(err error) error {
	if s.number == 0 || !errors.Is(err, task.ErrUnavailable) {
		return err
	}
	s.failed.Send()
	return fmt.Errorf("%w: database %s: %w", task.ErrPartly, s.db.Name(), err)
}

// keep keeps the membership in the shard, and finds out whether the shard answers, until ctx ends.
func (s *shard) keep(ctx context.Context, db *DB) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.renewed:
			if err := s.renew(ctx, db); err == nil {
				continue
			}
		case <-s.failed:
		}
		for tries := 0; ; tries++ {
			err := s.renew(ctx, db)
			if err == nil {
				err = s.tasks.Probe(ctx)
			}
			full := errors.Is(err, task.ErrFull) || errors.Is(err, task.ErrReadOnly) // it can be read
			if ctx.Err() != nil || !errors.Is(err, task.ErrUnavailable) || full {
				break
			}
			if tries == 0 {
				continue // its connection may have ended before
			}
			if !s.away.Swap(true) {
				db.o.Logger.Error("a database does not answer; its owners are not served", "store", s.db.Name(), "error", err)
			}
			if backoff.Sleep(ctx, tryEvery) != nil {
				return
			}
		}
		if s.away.Swap(false) {
			db.o.Logger.Info("the database answers again", "store", s.db.Name())
		}
	}
}

// renew renews the membership in the shard, and ends those of hubs that the home does not know.
func (s *shard) renew(ctx context.Context, db *DB) error {
	holder := db.holder()
	all, err := s.db.Renew(ctx, cluster.Renewal{Lease: db.lease()})
	if holder != *s.holder.Load() || errors.Is(err, cluster.ErrLost) {
		if err = s.rejoin(ctx, holder); err == nil {
			all, err = s.db.Renew(ctx, cluster.Renewal{Lease: db.lease()})
		}
	}
	if err != nil {
		return err
	}
	var known map[task.Holder]bool // of the home, read after the members of the shard
	for i := range all {
		m := &all[i]
		if m.Holder == holder || db.knows(m.Holder) {
			continue
		}
		if known == nil {
			now, err := db.home().db.Members(ctx)
			if err != nil {
				return nil // the next renewal tries again
			}
			known = make(map[task.Holder]bool, len(now))
			for i := range now {
				known[now[i].Holder] = true
			}
		}
		if known[m.Holder] {
			continue
		}
		if err := s.db.End(ctx, m.Epoch); err != nil {
			return err
		}
	}
	return nil
}

func (s *shard) rejoin(ctx context.Context, holder task.Holder) error {
	err := s.db.Rejoin(ctx, holder)
	if err == nil {
		s.holder.Store(&holder)
	}
	return err
}
