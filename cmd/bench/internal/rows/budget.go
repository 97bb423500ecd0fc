package rows

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/parley-a2a/parley/cmd/bench/internal/layers"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
	"github.com/parley-a2a/parley/cmd/bench/internal/wire"
)

// Budget is the processor time of an operation, by layers.
type Budget struct {
	Name   string
	Server serve.Kind
	// Measured is the processor time for one operation from the system, and Layers the parts
	// of it from a profile of the same time.
	Measured time.Duration
	Layers   []layers.Share
	Profile  *layers.Profile
}

// Sum returns the processor time of all layers.
func (b *Budget) Sum() (d time.Duration) {
	for _, l := range b.Layers {
		d += l.CPU
	}
	return d
}

// Budgets measures the three main rows with a profile of the server.
func (b *Bench) Budgets(ctx context.Context) ([]Budget, error) {
	dir, err := b.temp()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	of := *b
	of.Profiles = dir
	var all []Budget
	for _, w := range []struct {
		name string
		kind serve.Kind
		ops  func(context.Context, string) ([]op, func(), error)
		unit int
	}{
		{"a blocking send on SQLite", serve.ParleySQLite, of.sendersOfText, 1},
		{"a blocking send in memory", serve.ParleyMemory, of.sendersOfText, 1},
		{"a chunk of a stream of 1,000 on SQLite", serve.ParleySQLite, of.oneStream, 1_000},
	} {
		b.Log("budget: %s", w.name)
		one, err := of.budgetOf(ctx, w.kind, w.ops)
		if err != nil {
			return all, fmt.Errorf("%s: %w", w.name, err)
		}
		one.Name = w.name
		one.Measured /= time.Duration(w.unit)
		for i := range one.Layers {
			one.Layers[i].CPU /= time.Duration(w.unit)
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

func (b *Bench) budgetOf(ctx context.Context, k serve.Kind, connect func(context.Context, string) ([]op, func(), error)) (one Budget, err error) {
	p, stop, err := b.start(ctx, k)
	if err != nil {
		return one, err
	}
	defer closing(&err, stop)
	ops, hangUp, err := connect(ctx, p.Addr)
	if err != nil {
		return one, err
	}
	defer hangUp()
	l := &loop{p: p, ops: ops}
	if _, err := l.run(ctx, b.Warmup); err != nil {
		return one, err
	}
	var r run
	err = b.profiled(ctx, p, "budget", func() (err error) {
		r, err = l.run(ctx, b.Duration)
		return err
	})
	if err != nil {
		return one, err
	}
	one.Server, one.Measured = k, time.Duration(r.perUnit(float64(r.used.CPU)))
	if one.Profile, err = layers.Read(filepath.Join(b.Profiles, "budget.cpu")); err != nil {
		return one, err
	}
	one.Layers = one.Profile.Shares()
	for i := range one.Layers {
		one.Layers[i].CPU /= time.Duration(r.ops)
	}
	return one, nil
}
