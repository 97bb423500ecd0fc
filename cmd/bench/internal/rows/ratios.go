package rows

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
	"github.com/parley-a2a/parley/cmd/bench/internal/stat"
)

// turn is a running server that gets its load in turns with others.
type turn struct {
	name string
	kind serve.Kind
	unit string
	// units is the weight of an operation.
	units int
	loop  *loop
	runs  []run
	stop  func() error
}

// inTurns measures servers one after the other, in twice as many rounds of half the length, so that
// a change of the machine affects all of them.
func (b *Bench) inTurns(ctx context.Context, row string, turns []*turn) error {
	for round := range 2*b.Runs + 1 {
		b.Log("%s: round %d", row, round)
		for _, t := range turns {
			d := b.Duration / 2
			if round == 0 {
				d = b.Warmup / 2
			}
			r, err := t.loop.run(ctx, d)
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			if r.units = t.units; round > 0 {
				t.runs = append(t.runs, r)
			}
		}
	}
	return nil
}

// compare sets the ratios to the runs of another case, each to the run of the same round.
func (r *Result) compare(beside string, ours, theirs []run) {
	for i := range ours {
		r.Ratios = append(r.Ratios, ours[i].rate()/theirs[i].rate())
		if cpu := theirs[i].perUnit(float64(theirs[i].used.CPU)); cpu > 0 {
			r.CostRatios = append(r.CostRatios, ours[i].perUnit(float64(ours[i].used.CPU))/cpu)
		}
	}
	r.Beside, r.Ratio, r.CostRatio = beside, stat.Median(r.Ratios), stat.Median(r.CostRatios)
}

// ratios measures the main rows in turns with the bare handler. The gate compares its results with
// those of an earlier run.
func ratios(ctx context.Context, b *Bench) (rs []Result, err error) {
	dir, err := b.seed(ctx, b.Sizes[0])
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "parley.db")
	var turns []*turn
	defer func() {
		for _, t := range turns {
			err = errors.Join(err, t.stop())
		}
	}()
	for _, w := range []struct {
		turn
		args    []string
		connect func(context.Context, string) ([]op, func(), error)
	}{
		{turn{name: "send", kind: serve.Bare, unit: "sends/s", units: 1}, nil, b.sendersOfText},
		{turn{name: "send", kind: serve.ParleyMemory, unit: "sends/s", units: 1}, nil, b.sendersOfText},
		{turn{name: "send", kind: serve.ParleySQLite, unit: "sends/s", units: 1}, nil, b.sendersOfText},
		{turn{name: "chunk of 1,000", kind: serve.ParleySQLite, unit: "chunks/s", units: 1_000}, nil, b.oneStream},
		{
			turn{name: "GetTask of " + count(b.Sizes[0]), kind: serve.ParleySQLite, unit: "calls/s", units: 1},
			[]string{"-file", file, "-owners"},
			b.readOps(reads(b.Sizes[0])[0].open),
		},
	} {
		t := &w.turn
		if err := b.take(ctx, t, w.args, w.connect); err != nil {
			return nil, fmt.Errorf("%s of %s: %w", t.name, t.kind, err)
		}
		turns = append(turns, t)
	}
	if err := b.inTurns(ctx, "ratios", turns); err != nil {
		return nil, err
	}
	for _, t := range turns {
		r := summary(t.kind, t.unit, t.runs)
		r.Row, r.Case = "ratios", t.name
		if t != turns[0] {
			r.compare(string(serve.Bare), t.runs, turns[0].runs)
		}
		rs = append(rs, r)
	}
	return rs, nil
}

// take starts the server of a turn and opens its connections.
func (b *Bench) take(ctx context.Context, t *turn, args []string, connect func(context.Context, string) ([]op, func(), error)) error {
	p, stop, err := b.start(ctx, t.kind, args...)
	if err != nil {
		return err
	}
	ops, hangUp, err := connect(ctx, p.Addr)
	if err != nil {
		return errors.Join(err, stop())
	}
	t.loop = &loop{p: p, ops: ops}
	t.stop = func() error {
		hangUp()
		return stop()
	}
	return nil
}
