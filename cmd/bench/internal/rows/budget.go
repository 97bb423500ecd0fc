package rows

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/parley-a2a/parley/cmd/bench/internal/child"
	"github.com/parley-a2a/parley/cmd/bench/internal/layers"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
	"github.com/parley-a2a/parley/cmd/bench/internal/wire"
)

// Budget is the processor time of an operation, by layers.
type Budget struct {
	Name string `json:"name"`
	// File is the name of its flame graph.
	File   string     `json:"file"`
	Server serve.Kind `json:"server"`
	// Measured is the processor time for one operation from the system, and Layers the parts
	// of it from a profile of the same time.
	Measured time.Duration   `json:"measured_ns"`
	Layers   []layers.Share  `json:"layers"`
	Profile  *layers.Profile `json:"-"`
}

// Sum returns the processor time of all layers.
func (b *Budget) Sum() (d time.Duration) {
	for _, l := range b.Layers {
		d += l.CPU
	}
	return d
}

// budgeted is an operation whose processor time is divided.
type budgeted struct {
	name, file string
	kind       serve.Kind
	args       []string
	ops        func(context.Context, string) ([]op, func(), error)
	// units is the weight of an operation, and times the length as a multiple of a run: one
	// connection keeps less of the machine busy, and so gives fewer samples.
	units, times int
}

// Budgets measures the main rows with a profile of the server.
func (b *Bench) Budgets(ctx context.Context) ([]Budget, error) {
	dir, err := b.temp()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	most := b.Sizes[len(b.Sizes)-1]
	data, err := b.seed(ctx, most)
	if err != nil {
		return nil, err
	}
	of := *b
	of.Profiles = dir
	var all []Budget
	for _, w := range []budgeted{
		{"blocking send, SQLite", "blocking-sqlite.svg", serve.ParleySQLite, nil, of.sendersOfText, 1, 2},
		{"blocking send, memory", "blocking-memory.svg", serve.ParleyMemory, nil, of.sendersOfText, 1, 2},
		{"chunk of a stream of 1,000, SQLite", "stream-sqlite.svg", serve.ParleySQLite, nil, of.oneStream, 1_000, 4},
		{"GetTask of " + count(most) + ", SQLite", "lookup-sqlite.svg", serve.ParleySQLite, []string{"-file", filepath.Join(data, "parley.db"), "-owners"}, of.readOps(reads(most)[0].open), 1, 2},
	} {
		b.Log("budget: %s", w.name)
		one, err := of.budgetOf(ctx, w)
		if err != nil {
			return all, fmt.Errorf("%s: %w", w.name, err)
		}
		all = append(all, one)
	}
	return all, nil
}

func (b *Bench) sendersOfText(ctx context.Context, addr string) ([]op, func(), error) {
	return b.senders(ctx, addr, v10)
}

func (b *Bench) oneStream(ctx context.Context, addr string) ([]op, func(), error) {
	const chunks = 1_000
	ctx, hangUp := context.WithCancel(ctx)
	c, err := wire.Dial(ctx, addr)
	if err != nil {
		hangUp()
		return nil, nil, err
	}
	request := v10.streaming(serve.Text(serve.Chunks, fmt.Sprint(chunks)))
	return []op{func(n uint64) error {
		s, err := c.Stream(request.With(n))
		if err != nil {
			return err
		}
		return follow(s, chunks)
	}}, hangUp, nil
}

func (b *Bench) budgetOf(ctx context.Context, w budgeted) (one Budget, err error) {
	p, stop, err := b.start(ctx, w.kind, w.args...)
	if err != nil {
		return one, err
	}
	defer closing(&err, stop)
	ops, hangUp, err := w.ops(ctx, p.Addr)
	if err != nil {
		return one, err
	}
	defer hangUp()
	l := &loop{p: p, ops: ops}
	if _, err := l.run(ctx, b.Warmup); err != nil {
		return one, err
	}
	var r run
	var monitor time.Duration
	err = b.profiled(ctx, p, "budget", func() (err error) {
		monitor, err = watched(p, func() (err error) {
			r, err = l.run(ctx, time.Duration(w.times)*b.Duration)
			return err
		})
		return err
	})
	if err != nil {
		return one, err
	}
	r.units = w.units
	one = Budget{Name: w.name, File: w.file, Server: w.kind, Measured: time.Duration(r.perUnit(float64(r.used.CPU)))}
	if one.Profile, err = layers.Read(filepath.Join(b.Profiles, "budget.cpu")); err != nil {
		return one, err
	}
	one.Layers = append(one.Profile.Shares(), layers.Share{Layer: layers.Monitor, CPU: monitor})
	layers.Sort(one.Layers)
	for i := range one.Layers {
		one.Layers[i].CPU = time.Duration(r.perUnit(float64(one.Layers[i].CPU)))
	}
	return one, nil
}

// watched calls f, and returns the processor time that p used meanwhile in the thread that profiles
// leave out.
func watched(p *child.Process, f func() error) (time.Duration, error) {
	before, err := p.Monitor()
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, err := p.Monitor()
	return after - before, err
}

// Share returns the layers as a share of the measured time.
func (b *Budget) Share() float64 { return float64(b.Sum()) / float64(max(b.Measured, 1)) }
