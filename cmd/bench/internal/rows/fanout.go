package rows

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/cmd/bench/internal/child"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
	"github.com/parley-a2a/parley/cmd/bench/internal/stat"
)

// fanOut measures the cost of sending the events of one task to many readers.
func fanOut(ctx context.Context, b *Bench) ([]Result, error) {
	if err := openFiles(b.Readers + 200); err != nil {
		return []Result{{Row: "fanout", Left: err.Error()}}, nil
	}
	kinds := []serve.Kind{serve.GoSDK, serve.JSSDK, serve.ParleyMemory, serve.ParleySQLite}
	return b.each(ctx, "fanout", kinds, b.fanOutOn)
}

func (b *Bench) fanOutOn(ctx context.Context, k serve.Kind) (rs []Result, err error) {
	p, stop, err := b.start(ctx, k)
	if err != nil {
		return nil, err
	}
	defer closing(&err, stop)
	var runs []run
	for i := range 1 + b.Runs {
		r, err := b.fanOutOnce(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("run %d: %w", i, err)
		}
		if i > 0 { // the first is the warm-up
			runs = append(runs, r)
		}
	}
	var perCPU []float64
	for i := range runs {
		if runs[i].used.CPU == 0 {
			return nil, fmt.Errorf("%w: it took less time than the system's clock counts", ErrLeftOut)
		}
		perCPU = append(perCPU, float64(runs[i].ops)/runs[i].used.CPU.Seconds())
	}
	r := summary(k, "", runs)
	r.Unit, r.Value, r.Spread, r.Runs = "deliveries/CPU s", stat.Median(perCPU), stat.Spread(perCPU), perCPU
	r.P50, r.P99 = 0, 0
	r.Case = fmt.Sprintf("%s events × %s readers", count(b.Events), count(b.Readers))
	err = finish(ctx, p, &r)
	return []Result{r}, err
}

// fanOutOnce opens many streams of one task, releases the task, and measures until each reader
// has read everything.
func (b *Bench) fanOutOnce(ctx context.Context, p *child.Process) (run, error) {
	id, first, err := hold(ctx, p, b.Events)
	if err != nil {
		return run{}, err
	}
	readers := []*reader{first}
	defer func() { closeAll(readers) }()
	if _, err := p.Do(ctx, serve.Await, "1"); err != nil {
		return run{}, err
	}
	for len(readers) < b.Readers {
		r, err := subscribe(ctx, p, id)
		if err != nil {
			return run{}, err
		}
		readers = append(readers, r)
	}
	r, err := metered(ctx, p, func() error {
		var group errgroup.Group
		for _, r := range readers {
			group.Go(func() error { return follow(r.s, b.Events) })
		}
		if _, err := p.Do(ctx, serve.Release, ""); err != nil {
			return err
		}
		return group.Wait()
	})
	r.ops, r.units = len(readers)*b.Events, 1
	return r, err
}
