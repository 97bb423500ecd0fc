package rows

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
	"github.com/parley-a2a/parley/cmd/bench/internal/stat"
)

// Point is a point of a curve.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// The curves, which are the cases of the row curves.
const (
	CurveThroughput = "sends/s by connections"
	CurveLatency    = "latency of a send in ms by share of the sends, 64 connections"
	CurveLength     = "processor time of a chunk in µs by length of the stream"
	CurveTasks      = "p50 of a read in µs by number of tasks"
	CurveStreams    = "resident memory in MiB by open streams"
)

// quantiles are the points of the curve of latencies.
var quantiles = []float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999}

// curves measures single runs of a fifth of the length for each point of a curve.
func curves(ctx context.Context, b *Bench) ([]Result, error) {
	of := *b
	of.Warmup, of.Duration, of.Runs = b.Warmup/5, b.Duration/5, 1
	var all []Result
	for _, f := range []func(context.Context) ([]Result, error){of.curvesOfSends, of.curvesOfLength, of.curvesOfTasks, of.curvesOfStreams} {
		rs, err := f(ctx)
		for i := range rs {
			rs[i].Row = "curves"
		}
		if all = append(all, rs...); err != nil {
			return all, err
		}
	}
	return all, nil
}

// curve returns a result whose value is the last point.
func curve(name, unit string, k serve.Kind, points []Point) Result {
	r := Result{Case: name, Server: k, Unit: unit, Points: points}
	if len(points) > 0 {
		r.Value = points[len(points)-1].Y
	}
	return r
}

func (b *Bench) curvesOfSends(ctx context.Context) ([]Result, error) {
	kinds := slices.Concat([]serve.Kind{serve.ParleySQLite, serve.ParleyMemory, serve.Bare}, serve.Peers())
	return b.each(ctx, "curves", kinds, func(ctx context.Context, k serve.Kind) (rs []Result, err error) {
		p, stop, err := b.start(ctx, k)
		if err != nil {
			return nil, err
		}
		defer closing(&err, stop)
		var rates, latencies []Point
		l := &loop{p: p} // one for all, because no server may get a message id twice
		for _, conns := range []int{1, 4, 16, 64, 256} {
			of := *b
			of.Conns = conns
			r, err := of.sendsOnce(ctx, l, k, p.Addr)
			if err != nil {
				return nil, fmt.Errorf("%d connections: %w", conns, err)
			}
			rates = append(rates, Point{float64(conns), r.rate()})
			for _, q := range quantiles {
				if conns == 64 {
					latencies = append(latencies, Point{q, ms(stat.Quantile(r.latencies, q))})
				}
			}
		}
		return []Result{curve(CurveThroughput, "sends/s", k, rates), curve(CurveLatency, "ms", k, latencies)}, nil
	})
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

func (b *Bench) sendsOnce(ctx context.Context, l *loop, k serve.Kind, addr string) (r run, err error) {
	ops, hangUp, err := b.senders(ctx, addr, languageOf(k))
	if err != nil {
		return r, err
	}
	defer hangUp()
	l.ops = ops
	if _, err := l.run(ctx, b.Warmup); err != nil {
		return r, fmt.Errorf("warm-up: %w", err)
	}
	return l.run(ctx, b.Duration)
}

func (b *Bench) curvesOfLength(ctx context.Context) ([]Result, error) {
	kinds := []serve.Kind{serve.ParleyMemory, serve.ParleySQLite, serve.GoSDK, serve.JSSDK}
	return b.each(ctx, "curves", kinds, func(ctx context.Context, k serve.Kind) ([]Result, error) {
		var points []Point
		for _, n := range []int{10, 100, 1_000, 10_000} {
			if n > 1_000 && !b.ours(k) {
				continue // a peer takes minutes for one of them
			}
			rs, err := b.streamOn(ctx, k, n)
			if err != nil {
				return nil, fmt.Errorf("%d chunks: %w", n, err)
			}
			points = append(points, Point{float64(n), float64(rs[0].CPU.Nanoseconds()) / 1_000})
		}
		return []Result{curve(CurveLength, "µs", k, points)}, nil
	})
}

// fewest is the smallest number of tasks of the curve by number of tasks.
const fewest = 1_000

func (b *Bench) curvesOfTasks(ctx context.Context) ([]Result, error) {
	points := make(map[string][]Point)
	for n := fewest; n <= slices.Max(b.Sizes); n *= 10 {
		rs, err := b.lookups(ctx, serve.ParleySQLite, []int{n})
		if err != nil {
			return nil, fmt.Errorf("%d tasks: %w", n, err)
		}
		for i, method := range []string{"GetTask", "ListTasks"} {
			points[method] = append(points[method], Point{float64(n), 1_000 * ms(rs[i].P50)})
		}
	}
	return []Result{
		curve(CurveTasks, "µs", "GetTask", points["GetTask"]),
		curve(CurveTasks, "µs", "ListTasks", points["ListTasks"]),
	}, nil
}

func (b *Bench) curvesOfStreams(ctx context.Context) ([]Result, error) {
	if err := openFiles(b.Idle + 200); err != nil {
		return []Result{{Case: CurveStreams, Server: serve.ParleySQLite, Left: err.Error()}}, nil
	}
	return b.each(ctx, "curves", []serve.Kind{serve.ParleySQLite, serve.ParleyMemory, serve.GoSDK}, b.curveOfStreams)
}

// curveOfStreams opens streams in four steps, and reads the memory after each.
func (b *Bench) curveOfStreams(ctx context.Context, k serve.Kind) (rs []Result, err error) {
	p, stop, err := b.start(ctx, k)
	if err != nil {
		return nil, err
	}
	defer closing(&err, stop)
	var ids []string
	var open []*reader
	defer func() { closeAll(open) }()
	for range max(1, b.Idle/readersPerTask) {
		id, r, err := hold(ctx, p, 1)
		if err != nil {
			return nil, err
		}
		ids, open = append(ids, id), append(open, r)
	}
	if _, err := p.Do(ctx, serve.Await, strconv.Itoa(len(ids))); err != nil {
		return nil, err
	}
	var points []Point
	const steps = 4
	for step := range steps + 1 {
		if step > 0 {
			more, err := gather(ctx, p, ids, b.Idle/steps)
			if open = append(open, more...); err != nil {
				return nil, err
			}
		}
		if err := sleep(ctx, min(b.IdleWait, 3*time.Second)); err != nil {
			return nil, err
		}
		resident, err := p.Resident()
		if err != nil {
			return nil, err
		}
		points = append(points, Point{float64(step * b.Idle / steps), float64(resident) / (1 << 20)})
	}
	return []Result{curve(CurveStreams, "MiB", k, points)}, b.wakeAll(ctx, p, open)
}
