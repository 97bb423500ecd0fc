package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/parley-a2a/parley/cmd/bench/internal/rows"
)

// flameNames are the files of the flame graphs, in the order of rows.Bench.Budgets.
var flameNames = []string{"blocking-sqlite.svg", "blocking-memory.svg", "stream-sqlite.svg"}

// budget prints where the processor time of an operation goes, and writes flame graphs to
// o.flames unless it is empty. It reports whether the layers add up to the measured time.
func (o *options) budget(ctx context.Context, w io.Writer) (bool, error) {
	all, err := o.bench.Budgets(ctx)
	if err != nil {
		return false, err
	}
	complete := true
	for i := range all {
		complete = printBudget(w, &all[i]) && complete
		if o.flames == "" {
			continue
		}
		if err := writeFlame(filepath.Join(o.flames, flameNames[i]), &all[i]); err != nil {
			return false, err
		}
	}
	return complete, nil
}

func writeFlame(path string, b *rows.Budget) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return b.Profile.Flame(f, b.Name)
}

// tolerance is the largest difference of the layers and the measured time.
const tolerance = 0.1

// printBudget writes a table in Markdown, and reports whether its lines add up.
func printBudget(w io.Writer, b *rows.Budget) bool {
	us := func(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d.Nanoseconds())/1_000) }
	var t strings.Builder
	fmt.Fprintf(&t, "\n| %s%s | µs | Share |\n|---|--:|--:|\n", strings.ToUpper(b.Name[:1]), b.Name[1:])
	sum := max(b.Sum(), 1)
	for _, l := range b.Layers {
		fmt.Fprintf(&t, "| %s | %s | %.1f %% |\n", l.Layer, us(l.CPU), 100*float64(l.CPU)/float64(sum))
	}
	ratio := float64(sum) / float64(max(b.Measured, 1))
	fmt.Fprintf(&t, "| **All layers** | **%s** | |\n| Measured by the system | %s | layers are %.0f %% of it |\n", us(sum), us(b.Measured), 100*ratio)
	_, _ = io.WriteString(w, t.String())
	return ratio > 1-tolerance && ratio < 1+tolerance
}
