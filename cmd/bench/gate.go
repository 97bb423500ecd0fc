package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/parley-a2a/parley/cmd/bench/internal/rows"
	"github.com/parley-a2a/parley/cmd/bench/internal/stat"
)

// The tolerance of the gate is the larger spread of the two runs, but at least smallest. Each ratio
// is the median of six rounds, whose standard error is about a fifth of the spread; so the
// tolerance is three standard errors of the difference of two such medians. Above most, the
// rounds differ too much to find a regression.
const (
	smallest = 0.03
	most     = 0.25
)

// Errors of the gate.
var (
	errRegression = errors.New("slower than recorded")
	errNoisy      = errors.New("too noisy to say")
	errNoRecord   = errors.New("not in the record")
)

// gate compares the ratios to the bare handler with those of a recorded run, and prints a line for
// each. Its error wraps errRegression, errNoRecord or errNoisy, in this order of precedence.
func gate(w io.Writer, record, now []rows.Result) error {
	var b strings.Builder
	var errs []error
	for i := range now {
		x := &now[i]
		if x.Row != "ratios" || x.Beside == "" {
			continue
		}
		name := x.Case + " of " + string(x.Server)
		old := find(record, x.Row, x.Case, x.Server)
		if old == nil || old.Beside != x.Beside {
			errs = append(errs, fmt.Errorf("%s: %w", name, errNoRecord))
			continue
		}
		for _, c := range []compared{
			{name + ": rate ÷ " + x.Beside, old.Ratios, x.Ratios, false},
			{name + ": processor time ÷ " + x.Beside, old.CostRatios, x.CostRatios, true},
		} {
			line, err := c.judge()
			b.WriteString(line + "\n")
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", c.name, err))
			}
		}
	}
	if b.Len() == 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("row ratios: %w", errNoRecord))
	}
	_, err := io.WriteString(w, b.String())
	return errors.Join(append(errs, err)...)
}

// compared is a ratio in two runs, by rounds. cost is set if a larger one is worse.
type compared struct {
	name     string
	old, now []float64
	cost     bool
}

// judge returns a line for the reader, and an error unless the ratio is as good as the recorded one.
func (c *compared) judge() (string, error) {
	old, now := stat.Median(c.old), stat.Median(c.now)
	if old == 0 || now == 0 {
		return c.name + ": no ratio", errNoRecord
	}
	allowed := max(smallest, stat.Spread(c.old), stat.Spread(c.now))
	worse := old/now - 1
	if c.cost {
		worse = now/old - 1
	}
	word, err := "as recorded", error(nil)
	switch {
	case allowed > most:
		word, err = errNoisy.Error(), errNoisy
	case worse > allowed:
		word, err = errRegression.Error(), errRegression
	case worse < -allowed:
		word = "better than recorded"
	}
	return fmt.Sprintf("%-62s %.3f, recorded %.3f: %s by %.1f %%, tolerance %.1f %%: %s",
		c.name, now, old, map[bool]string{true: "worse", false: "better"}[worse > 0], 100*math.Abs(worse), 100*allowed, word), err
}

// gateCode returns the exit code of the gate's error.
func gateCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errRegression), errors.Is(err, errNoRecord):
		return 1
	}
	return exitNoisy
}

// exitNoisy is the exit code of a gate that found no regression and cannot exclude one.
const exitNoisy = 3
