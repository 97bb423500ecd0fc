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

// away is nil for the error of a shard that does not answer.
func away(err error) error {
	if errors.Is(err, task.ErrPartly) {
		return nil
	}
	return err
}

// placed returns those of the heads that a shard has returned whose owners it has: an owner that moves has tasks
// in two.
func (db *DB) placed(ctx context.Context, s *shard, heads []task.Head) ([]task.Head, error) {
	kept := heads[:0]
	for i := range heads {
		here, err := db.has(ctx, s, &heads[i])
		if err != nil {
			return nil, err
		}
		if here {
			kept = append(kept, heads[i])
		}
	}
	return kept, nil
}

// has reports whether the owner of a task that a shard has returned is there.
func (db *DB) has(ctx context.Context, s *shard, h *task.Head) (bool, error) {
	at, err := db.owners.find(ctx, h.Owner)
	if away(err) != nil || at != s {
		return false, away(err)
	}
	if h.Owner != "" {
		db.keys.add(h.Key, h.Owner)
	}
	return true, nil
}

// pick returns the values at some positions.
func pick[T any](all []T, at []int) []T {
	some := make([]T, len(at))
	for i, j := range at {
		some[i] = all[j]
	}
	return some
}

// paging reads items in the order of a position, up to a limit.
type paging[T, P any] struct {
	after    P
	limit    int
	head     func(*T) *task.Head
	position func(*T) P
	order    func(a, b P) int
}

// keysFrom reads items in the order of the keys of their tasks.
func keysFrom[T any](after task.Key, limit int, head func(*T) *task.Head) paging[T, task.Key] {
	return paging[T, task.Key]{after, limit, head, func(item *T) task.Key { return head(item).Key }, cmp.Compare[task.Key]}
}

// pages merges the items of all shards, without those of owners that a shard does not have. read returns up to
// the limit.
func pages[T, P any](ctx context.Context, db *DB, p paging[T, P], read func(in pgstore.Tasks, after P) ([]T, error)) (all []T, err error) {
	err = db.each(func(s *shard) error {
		for after, n := p.after, 0; ; {
			var page []T
			err := s.use(func(in pgstore.Tasks) (err error) {
				page, err = read(in, after)
				return err
			})
			if err != nil {
				return err
			}
			for i := range page {
				after = p.position(&page[i])
				here, err := db.has(ctx, s, p.head(&page[i]))
				if err != nil {
					return err
				}
				if here {
					all, n = append(all, page[i]), n+1
				}
			}
			if len(page) < p.limit || n >= p.limit {
				return nil
			}
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b T) int { return p.order(p.position(&a), p.position(&b)) })
	return all[:min(len(all), max(p.limit, 0))], nil
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

func ofHead(h *task.Head) *task.Head { return h }

// Due implements task.Work.
func (t Tasks) Due(ctx context.Context, after task.Key, limit int) ([]task.Head, error) {
	return pages(ctx, t.DB, keysFrom(after, limit, ofHead), func(in pgstore.Tasks, after task.Key) ([]task.Head, error) {
		return in.Due(ctx, after, limit)
	})
}

// Stale implements task.Work. While an owner moves, a page may be short.
func (t Tasks) Stale(ctx context.Context, before task.Millis, limit int) (all []task.Head, err error) {
	err = t.each(func(s *shard) error {
		var found []task.Head
		err := s.use(func(in pgstore.Tasks) (err error) {
			found, err = in.Stale(ctx, before, limit)
			return err
		})
		if err == nil {
			found, err = t.placed(ctx, s, found)
		}
		all = append(all, found...)
		return err
	})
	slices.SortStableFunc(all, func(a, b task.Head) int { return cmp.Compare(a.StatusAt, b.StatusAt) })
	return all[:min(len(all), max(limit, 0))], err
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
			if err == nil {
				found, err = t.placed(ctx, s, found)
			}
			all = append(all, found...)
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
