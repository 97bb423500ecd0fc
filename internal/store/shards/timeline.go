package shards

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/store/pgstore"
)

// mergeMost is the largest number of commits of a shard that one pass merges.
const mergeMost = 4096

// AddNotices implements task.Timeline: notices are in the home.
func (t Tasks) AddNotices(ctx context.Context, notices [][]byte) error {
	return t.home().tasks.AddNotices(ctx, notices)
}

// Timeline implements task.Timeline. Before it reads, it merges the new moments of the shards.
func (t Tasks) Timeline(ctx context.Context, after int64, limit int) (page task.TimelinePage, err error) {
	if limit <= 0 {
		return page, fmt.Errorf("timeline: limit %d must be positive", limit)
	}
	if err := t.merge(ctx); err != nil {
		return page, fmt.Errorf("timeline after %d: %w", after, err)
	}
	after = max(after, 0)
	for from := after + 1; ; {
		rows, oldest, newest, err := t.home().db.Stretches(ctx, from, limit)
		if err != nil {
			return page, err
		}
		page.ID, page.Oldest, page.Newest = t.log, max(page.Oldest, oldest), newest
		if len(rows) == 0 {
			return page, nil
		}
		if err := t.moments(ctx, &page, span{rows, from, limit}); err != nil {
			return page, fmt.Errorf("timeline after %d: %w", after, err)
		}
		if len(page.Moments) > 0 {
			return page, nil
		}
		// A shard keeps none of these any more.
		last := rows[len(rows)-1]
		from = last.Seq + last.N
	}
}

// merge gives the new moments of all shards their positions.
func (t Tasks) merge(ctx context.Context) error {
	for more := true; more; {
		to, err := t.home().db.Merged(ctx)
		if err != nil {
			return err
		}
		var commits []pgstore.Stretch
		horizon := int64(math.MaxInt64) // later commits may follow others that were not read
		err = t.each(func(s *shard) error {
			return s.use(func(in pgstore.Tasks) error {
				found, err := in.Commits(ctx, to[s.number], mergeMost)
				at := int64(0)
				for i := range found {
					at = max(at, found[i].At) // a shard has its own order
					found[i].At, found[i].Number = at, s.number
				}
				if len(found) == mergeMost {
					horizon = min(horizon, at)
				}
				commits = append(commits, found...)
				return err
			})
		})
		if err != nil {
			return err
		}
		more = horizon < math.MaxInt64
		commits = slices.DeleteFunc(commits, func(c pgstore.Stretch) bool { return c.At > horizon })
		if len(commits) == 0 {
			return nil
		}
		slices.SortStableFunc(commits, func(a, b pgstore.Stretch) int { return cmp.Compare(a.At, b.At) })
		if err := t.home().db.Merge(commits); err != nil {
			return err
		}
	}
	return nil
}

// span is a part of the timeline: the stretches that begin with that of the position from, up to limit moments.
type span struct {
	rows  []pgstore.Stretch
	from  int64
	limit int
}

// moments reads the moments of a span. It reads each shard once, and ends before a stretch of one that does
// not answer.
func (t Tasks) moments(ctx context.Context, page *task.TimelinePage, sp span) error {
	type reading struct{ first, last int64 }
	need := make(map[int]*reading)
	left := int64(sp.limit)
	for i := range sp.rows {
		r := &sp.rows[i]
		if skip := sp.from - r.Seq; skip > 0 {
			r.Seq, r.First, r.N = r.Seq+skip, r.First+skip, r.N-skip
		}
		r.N = min(r.N, left)
		left -= r.N
		if r.N <= 0 {
			continue
		}
		if need[r.Number] == nil {
			need[r.Number] = &reading{first: r.First}
		}
		need[r.Number].last = r.First + r.N - 1
	}
	found := make(map[int]map[int64]*task.Moment)
	failed := make(map[int]error)
	for number, n := range need {
		s := t.shard(number)
		if s == nil {
			failed[number] = fmt.Errorf("%w: shard %d is missing in store.databases of this hub", task.ErrPartly, number)
			continue
		}
		err := s.use(func(in pgstore.Tasks) error {
			got, err := in.Timeline(ctx, n.first-1, int(n.last-n.first)+1)
			found[number] = make(map[int64]*task.Moment, len(got.Moments))
			for i := range got.Moments {
				found[number][got.Moments[i].Seq] = &got.Moments[i]
			}
			return err
		})
		if err != nil && !errors.Is(err, task.ErrPartly) {
			return err
		}
		failed[number] = err
	}
	if err := t.moved(ctx, found); err != nil {
		return err
	}
	for _, r := range sp.rows {
		if err := failed[r.Number]; err != nil && r.N > 0 {
			if len(page.Moments) > 0 {
				return nil
			}
			return err
		}
		for i := range r.N {
			m, kept := found[r.Number][r.First+i]
			if !kept {
				if len(page.Moments) > 0 {
					return nil // the next page begins with the gap
				}
				page.Oldest = r.Seq + i + 1
				continue
			}
			page.Moments = append(page.Moments, *m)
			page.Moments[len(page.Moments)-1].Seq = r.Seq + i
		}
	}
	return nil
}

// moved completes the moments of tasks whose owners have left the shard with their heads of today.
func (t Tasks) moved(ctx context.Context, found map[int]map[int64]*task.Moment) error {
	missing := make(map[task.Key][]*task.Moment)
	var keys []task.Key
	for number, all := range found {
		s := t.shard(number)
		if !s.left.Load() {
			continue
		}
		for _, m := range all {
			if m.Key == 0 {
				continue
			}
			if m.Head.Key != 0 {
				here, err := t.has(ctx, s, &m.Head)
				if err != nil {
					return err
				}
				if here {
					continue
				}
			}
			if missing[m.Key] == nil {
				keys = append(keys, m.Key)
			}
			missing[m.Key] = append(missing[m.Key], m)
			m.Head = task.Head{}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return t.each(func(s *shard) error {
		return s.use(func(in pgstore.Tasks) error {
			heads, err := in.HeadsOf(ctx, keys)
			if err == nil {
				heads, err = t.placed(ctx, s, heads)
			}
			for i := range heads {
				for _, m := range missing[heads[i].Key] {
					m.Head = heads[i]
				}
			}
			return err
		})
	})
}
