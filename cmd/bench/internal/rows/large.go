package rows

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/cmd/bench/internal/stat"
	"github.com/parley-a2a/parley/cmd/bench/internal/wire"
)

// largeBodies measures the memory of a hub that receives many large messages at once, and the
// latency of a caller of small ones beside them.
func largeBodies(ctx context.Context, b *Bench) ([]Result, error) {
	path, err := b.build(ctx)
	if err != nil {
		return nil, err
	}
	var all []Result
	for _, binding := range []string{"HTTP", "gRPC"} {
		b.Log("large-bodies: %s", binding)
		ctx, cancel := context.WithTimeoutCause(ctx, b.Patience*time.Duration(b.Runs), errLate)
		rs, err := b.largeBodiesOver(ctx, path, binding)
		cancel()
		all = append(all, rs...)
		if err != nil {
			return all, fmt.Errorf("%s: %w", binding, err)
		}
	}
	return all, nil
}

// flood is one run of large messages.
type flood struct {
	idle, beside []time.Duration
	// before and peak are the most memory that the hub has had, without and with large messages.
	before, peak     int64
	accepted, others int
}

func (b *Bench) largeBodiesOver(ctx context.Context, path, binding string) ([]Result, error) {
	var floods []flood
	for range b.Runs {
		f, err := b.floodOnce(ctx, path, binding)
		if err != nil {
			return nil, err
		}
		b.Log("large-bodies: %s: %d MiB, p99 %v and %v beside large messages, %d accepted, %d refused", binding,
			f.peak>>20, stat.Quantile(f.idle, 0.99), stat.Quantile(f.beside, 0.99), f.accepted, f.others)
		floods = append(floods, f)
	}
	line := func(name string, peak func(*flood) int64, latencies func(*flood) []time.Duration) Result {
		var mib, p50, p99 []float64
		for i := range floods {
			mib = append(mib, float64(peak(&floods[i]))/(1<<20))
			p50 = append(p50, float64(stat.Quantile(latencies(&floods[i]), 0.5)))
			p99 = append(p99, float64(stat.Quantile(latencies(&floods[i]), 0.99)))
		}
		r := values(command, "MiB", mib)
		r.Row, r.Case = "large-bodies", binding+", "+name
		r.P50, r.P99 = time.Duration(stat.Median(p50)), time.Duration(stat.Median(p99))
		return r
	}
	return []Result{
		line("none", func(f *flood) int64 { return f.before }, func(f *flood) []time.Duration { return f.idle }),
		line(fmt.Sprintf("%d of %d MiB", b.Large, b.LargeSize>>20), func(f *flood) int64 { return f.peak },
			func(f *flood) []time.Duration { return f.beside }),
	}, nil
}

// floodOnce measures a new hub, first with small messages alone, then beside large ones.
func (b *Bench) floodOnce(ctx context.Context, path, binding string) (f flood, err error) {
	dir, err := b.temp()
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir)
	grpc, err := freeAddr(ctx)
	if err != nil {
		return f, err
	}
	p, err := spawn(ctx, path, dir, "--grpc-listen", grpc)
	if err != nil {
		return f, err
	}
	defer closing(&err, p.Stop)
	if _, err := ready(ctx, p); err != nil {
		return f, err
	}
	send := largeSender{url: "http://" + p.Addr, text: b.LargeSize}.overHTTP
	if binding == "gRPC" {
		send = largeSender{url: "http://" + grpc, text: b.LargeSize}.overGRPC
	}
	c, err := wire.Dial(ctx, p.Addr)
	if err != nil {
		return f, err
	}
	defer c.Close()
	small := newEchoer(c, b.Text).send
	if _, err := paced(ctx, small, time.After(b.Warmup)); err != nil {
		return f, err
	}
	if f.idle, err = paced(ctx, small, time.After(b.Duration)); err != nil {
		return f, err
	}
	if f.before, err = p.Peak(); err != nil {
		return f, err
	}
	if err := b.pour(ctx, &f, small, send); err != nil {
		return f, err
	}
	f.peak, err = p.Peak()
	return f, err
}

// pour sends the large messages at once, and small ones until the last of them has its answer.
func (b *Bench) pour(ctx context.Context, f *flood, small op, send func(context.Context, int) (bool, error)) error {
	accepted := make([]bool, b.Large)
	ended := make(chan time.Time)
	var large errgroup.Group
	for i := range b.Large {
		large.Go(func() (err error) {
			accepted[i], err = send(ctx, i)
			return err
		})
	}
	var group errgroup.Group
	group.Go(func() error {
		defer close(ended)
		return large.Wait()
	})
	group.Go(func() (err error) {
		f.beside, err = paced(ctx, small, ended)
		return err
	})
	err := group.Wait()
	for _, ok := range accepted {
		if ok {
			f.accepted++
		} else {
			f.others++
		}
	}
	return err
}

// pause is the time between two small messages of one caller.
const pause = 2 * time.Millisecond

// paced performs an operation until end, with pauses, and returns the latencies.
func paced(ctx context.Context, small op, end <-chan time.Time) ([]time.Duration, error) {
	var all []time.Duration
	for n := uint64(0); ; n++ {
		select {
		case <-end:
			return all, nil
		default:
		}
		began := time.Now()
		if err := small(n); err != nil {
			return all, fmt.Errorf("small message %d: %w", n, err)
		}
		all = append(all, time.Since(began))
		if err := sleep(ctx, pause); err != nil {
			return all, err
		}
	}
}

// freeAddr returns an address on which no program listens.
func freeAddr(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
