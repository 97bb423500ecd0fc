package shards

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/store/pgstore"
)

// each calls f for each shard in turn. A shard that does not answer is left out, except the home.
func (db *DB) each(f func(*shard) error) error {
	for _, s := range db.all {
		if err := f(s); err != nil && !errors.Is(err, task.ErrPartly) {
			return err
		}
	}
	return nil
}

// pages reads up to limit items with keys above after, one shard after the other.
func pages[T any](db *DB, after task.Key, limit int, read func(s *shard, in pgstore.Tasks, after task.Key, limit int) ([]T, error)) (all []T, err error) {
	from, _ := local(after)
	err = db.each(func(s *shard) error {
		if s.number < from || len(all) >= limit && limit > 0 {
			return nil
		}
		return s.use(func(in pgstore.Tasks) error {
			page, err := read(s, in, s.inside(after), limit-len(all))
			all = append(all, page...)
			return err
		})
	})
	return all, err
}

// some lets each shard do a job for up to limit items. It returns the number of the items.
func (db *DB) some(limit int, job func(in pgstore.Tasks, limit int) (int, error)) (done int, err error) {
	err = db.each(func(s *shard) error {
		if done >= limit && limit > 0 {
			return nil
		}
		return s.use(func(in pgstore.Tasks) error {
			n, err := job(in, limit-done)
			done += n
			return err
		})
	})
	return done, err
}

// Due implements task.Work.
func (t Tasks) Due(ctx context.Context, after task.Key, limit int) ([]task.Head, error) {
	return pages(t.DB, after, limit, func(s *shard, in pgstore.Tasks, after task.Key, limit int) ([]task.Head, error) {
		all, err := in.Due(ctx, after, limit)
		return s.heads(all), err
	})
}

// Stale implements task.Work.
func (t Tasks) Stale(ctx context.Context, before task.Millis, limit int) ([]task.Head, error) {
	return pages(t.DB, 0, limit, func(s *shard, in pgstore.Tasks, _ task.Key, limit int) ([]task.Head, error) {
		all, err := in.Stale(ctx, before, limit)
		return s.heads(all), err
	})
}

// Sweep implements task.Sweeper.
func (t Tasks) Sweep(ctx context.Context, before task.Millis, limit int) (int, error) {
	return t.some(limit, func(in pgstore.Tasks, limit int) (int, error) { return in.Sweep(ctx, before, limit) })
}

// SweepRequests implements task.Requests.
func (t Tasks) SweepRequests(ctx context.Context, before task.Millis, limit int) (int, error) {
	return t.some(limit, func(in pgstore.Tasks, limit int) (int, error) { return in.SweepRequests(ctx, before, limit) })
}

// IndexTexts implements task.Texts.
func (t Tasks) IndexTexts(ctx context.Context, limit int) (more bool, err error) {
	err = t.each(func(s *shard) error {
		return s.use(func(in pgstore.Tasks) error {
			left, err := in.IndexTexts(ctx, limit)
			more = more || left
			return err
		})
	})
	return more, err
}

// Find implements task.Finder. If it finds nothing, and a shard does not answer, the task may be there.
func (t Tasks) Find(ctx context.Context, id a2a.TaskID) (all []task.Head, err error) {
	var away error
	err = t.each(func(s *shard) error {
		err := s.use(func(in pgstore.Tasks) error {
			found, err := in.Find(ctx, id)
			all = append(all, s.heads(found)...)
			return err
		})
		if errors.Is(err, task.ErrPartly) {
			away = err
		}
		return err
	})
	if err == nil && len(all) == 0 {
		err = away
	}
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", id, err)
	}
	slices.SortFunc(all, func(a, b task.Head) int { return cmp.Compare(a.Owner, b.Owner) })
	return all, nil
}
