package rows

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/cmd/bench/internal/child"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
)

// op is one operation on a connection of its own, with a unique number. It returns an error for
// wrong behaviour of the server.
type op func(n uint64) error

// target is a measured server, or several of them.
type target interface {
	Usage() (child.Usage, error)
	// Mallocs returns the number of allocated objects, or zero if it is not known.
	Mallocs(ctx context.Context) (uint64, error)
}

// closedLoop repeats all ops concurrently: once to warm up, then for each run.
func (b *Bench) closedLoop(ctx context.Context, p target, ops []op) ([]run, error) {
	l := &loop{p: p, ops: ops}
	if _, err := l.run(ctx, b.Warmup); err != nil {
		return nil, fmt.Errorf("warm-up: %w", err)
	}
	var runs []run
	for range b.Runs {
		r, err := l.run(ctx, b.Duration)
		if err != nil {
			return nil, fmt.Errorf("run %d: %w", len(runs)+1, err)
		}
		runs = append(runs, r)
	}
	return runs, nil
}

type loop struct {
	p    target
	ops  []op
	next uint64
}

// run keeps the ops busy for d, and measures.
func (l *loop) run(ctx context.Context, d time.Duration) (run, error) {
	lats := make([][]time.Duration, len(l.ops))
	first := l.next
	l.next += 1 << 32
	r, err := metered(ctx, l.p, func() error {
		group, ctx := errgroup.WithContext(ctx)
		end := time.Now().Add(d)
		for i, f := range l.ops {
			group.Go(func() (err error) {
				lats[i], err = repeat(ctx, f, first+uint64(i)<<24, end)
				return err
			})
		}
		return group.Wait()
	})
	for _, lat := range lats {
		r.latencies = append(r.latencies, lat...)
	}
	r.ops, r.units = len(r.latencies), 1
	return r, err
}

// repeat calls f until end or until ctx ends, at least once.
func repeat(ctx context.Context, f op, n uint64, end time.Time) ([]time.Duration, error) {
	lat := make([]time.Duration, 0, 4096)
	for before := time.Now(); ; n++ {
		if err := f(n); err != nil {
			return lat, err
		}
		now := time.Now()
		lat = append(lat, now.Sub(before))
		before = now
		if now.After(end) {
			return lat, nil
		}
		if ctx.Err() != nil {
			return lat, context.Cause(ctx)
		}
	}
}

// metered calls f and measures the cost for the server.
func metered(ctx context.Context, p target, f func() error) (run, error) {
	mallocs, err := p.Mallocs(ctx)
	if err != nil {
		return run{}, err
	}
	used, err := p.Usage()
	if err != nil {
		return run{}, err
	}
	began := time.Now()
	if err := f(); err != nil {
		return run{}, err
	}
	wall := time.Since(began)
	usedAfter, err := p.Usage()
	if err != nil {
		return run{}, err
	}
	after, err := p.Mallocs(ctx)
	return run{wall: wall, used: usedAfter.Sub(used), mallocs: after - mallocs}, err
}

// finish adds the server's final numbers to r.
func finish(ctx context.Context, p *child.Process, r *Result) error {
	stats, err := p.Do(ctx, serve.GetStats, "")
	if err != nil {
		return err
	}
	r.Goroutines = stats.Goroutines
	r.Resident, err = p.Resident()
	return err
}

// profiled calls f, and meanwhile writes profiles of the server if they are requested and the
// server supports them.
func (b *Bench) profiled(ctx context.Context, p *child.Process, name string, f func() error) error {
	if b.Profiles == "" || foreign(name) {
		return f()
	}
	path, err := filepath.Abs(filepath.Join(b.Profiles, name+".cpu"))
	if err != nil {
		return err
	}
	if _, err := p.Do(ctx, serve.Profile, path); err != nil {
		return err
	}
	err = f()
	_, stopped := p.Do(ctx, serve.Profile, "")
	return errors.Join(err, stopped)
}
