package rows

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
)

// remoteRate is the fixed number of messages a second in the row remote, independent of the
// answers.
const remoteRate = 200

// The cases of the row remote.
const (
	direct  = "direct"
	through = "through a hub"
)

// remote measures the cost of a hub that passes messages on to another server, at a fixed rate.
// A peer in memory is called directly, and through a hub on SQLite. The same hub with an agent
// of its own shows the cost of its two commits.
func remote(ctx context.Context, b *Bench) ([]Result, error) {
	var all []Result
	kinds := []serve.Kind{serve.ParleyMemory, serve.ParleySQLite}
	rs, err := b.each(ctx, "remote", kinds, func(ctx context.Context, k serve.Kind) ([]Result, error) {
		return b.remoteOn(ctx, k, direct, effects)
	})
	if all = append(all, rs...); err != nil {
		return all, err
	}
	rs, err = b.each(ctx, "remote", kinds[1:], func(ctx context.Context, k serve.Kind) (rs []Result, err error) {
		peer, stop, err := b.start(ctx, serve.ParleyMemory)
		if err != nil {
			return nil, err
		}
		defer closing(&err, stop)
		return b.remoteOn(ctx, k, through, "-remote", "http://"+peer.Addr)
	})
	return append(all, rs...), err
}

func (b *Bench) remoteOn(ctx context.Context, k serve.Kind, what string, args ...string) (rs []Result, err error) {
	p, stop, err := b.start(ctx, k, args...)
	if err != nil {
		return nil, err
	}
	defer closing(&err, stop)
	ops, hangUp, err := b.senders(ctx, p.Addr, languageOf(k))
	if err != nil {
		return nil, err
	}
	defer hangUp()
	l := &openLoop{ops: ops, rate: remoteRate}
	if _, err := l.run(ctx, b.Warmup); err != nil {
		return nil, fmt.Errorf("warm-up: %w", err)
	}
	var runs []run
	for range b.Runs {
		r, err := metered(ctx, p, func() error { return nil })
		if err != nil {
			return nil, err
		}
		if r.latencies, err = l.run(ctx, b.Duration); err != nil {
			return nil, fmt.Errorf("run %d: %w", len(runs)+1, err)
		}
		r.ops, r.units, r.wall = len(r.latencies), 1, b.Duration
		runs = append(runs, r)
	}
	r := summary(k, "sends/s", runs)
	r.Case, r.CPU, r.Allocs = what, 0, 0
	return []Result{r}, nil
}

// openLoop sends at a fixed rate. The latency of a late request counts from its scheduled time.
type openLoop struct {
	ops  []op
	rate int
	next uint64
}

func (l *openLoop) run(ctx context.Context, d time.Duration) ([]time.Duration, error) {
	group, ctx := errgroup.WithContext(ctx)
	due := make(chan time.Time, len(l.ops))
	lats := make([][]time.Duration, len(l.ops))
	first := l.next
	l.next += 1 << 32
	for i, f := range l.ops {
		group.Go(func() error {
			n := first + uint64(i)<<24
			for at := range due {
				if err := f(n); err != nil {
					return err
				}
				n++
				lats[i] = append(lats[i], time.Since(at))
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(due)
		began := time.Now()
		for n := range int(d.Seconds() * float64(l.rate)) {
			at := began.Add(time.Duration(n) * time.Second / time.Duration(l.rate))
			if err := sleep(ctx, time.Until(at)); err != nil {
				return err
			}
			select {
			case due <- at:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	err := group.Wait()
	var all []time.Duration
	for _, lat := range lats {
		all = append(all, lat...)
	}
	return all, err
}
