package rows

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/cmd/bench/internal/child"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
)

// readersPerTask is the number of idle streams that follow the same task.
const readersPerTask = 100

// idleStreams measures the memory of an idle stream.
func idleStreams(ctx context.Context, b *Bench) ([]Result, error) {
	if err := openFiles(b.Idle + 200); err != nil {
		return []Result{{Row: "idle-streams", Left: err.Error()}}, nil
	}
	return b.each(ctx, "idle-streams", []serve.Kind{serve.ParleySQLite}, b.idleOn)
}

func (b *Bench) idleOn(ctx context.Context, k serve.Kind) (rs []Result, err error) {
	p, stop, err := b.start(ctx, k)
	if err != nil {
		return nil, err
	}
	defer closing(&err, stop)
	before, ids, senders, err := b.holdMany(ctx, p)
	defer func() { closeAll(senders) }()
	if err != nil {
		return nil, err
	}
	readers, err := gather(ctx, p, ids, b.Idle)
	defer func() { closeAll(readers) }()
	if err != nil {
		return nil, err
	}
	if err := sleep(ctx, b.IdleWait); err != nil {
		return nil, err
	}
	after, err := p.Resident()
	if err != nil {
		return nil, err
	}
	if err := b.wakeAll(ctx, p, append(senders, readers...)); err != nil {
		return nil, err
	}
	r := values(k, "KiB/stream", []float64{float64(after-before) / float64(b.Idle) / 1024})
	r.Case = count(b.Idle) + " streams"
	r.Resident = after
	return []Result{r}, nil
}

// holdMany begins the tasks to follow, and returns the server's memory afterwards.
func (b *Bench) holdMany(ctx context.Context, p *child.Process) (resident int64, ids []string, senders []*reader, err error) {
	tasks := max(1, b.Idle/readersPerTask)
	for range tasks {
		id, r, err := hold(ctx, p, 1)
		if err != nil {
			return 0, nil, senders, err
		}
		ids, senders = append(ids, id), append(senders, r)
	}
	if _, err := p.Do(ctx, serve.Await, fmt.Sprint(tasks)); err != nil {
		return 0, nil, senders, err
	}
	if err := sleep(ctx, min(b.IdleWait, 5*time.Second)); err != nil {
		return 0, nil, senders, err
	}
	resident, err = p.Resident()
	return resident, ids, senders, err
}

// gather opens n streams, distributed over the tasks.
func gather(ctx context.Context, p *child.Process, ids []string, n int) ([]*reader, error) {
	var readers []*reader
	for i := range n {
		r, err := subscribe(ctx, p, ids[i%len(ids)])
		if err != nil {
			return readers, fmt.Errorf("stream %d: %w", i, err)
		}
		readers = append(readers, r)
	}
	return readers, nil
}

// wakeAll checks that the streams were idle and not dead: each gets the last chunk and the end
// of its task.
func (b *Bench) wakeAll(ctx context.Context, p *child.Process, readers []*reader) error {
	if _, err := p.Do(ctx, serve.Release, ""); err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(64)
	for _, r := range readers {
		group.Go(func() error { return follow(r.s, 1) })
	}
	return group.Wait()
}
