package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// tolerance is the largest difference of the layers and the measured time.
const tolerance = 0.1

// budget measures where the processor time of an operation goes, and writes flame graphs to
// o.flames unless it is empty. An error of r states an operation whose layers do not add up.
func (o *options) budget(ctx context.Context, r *report) (err error) {
	if r.Budgets, err = o.bench.Budgets(ctx); err != nil {
		return fmt.Errorf("budget: %w", err)
	}
	for i := range r.Budgets {
		b := &r.Budgets[i]
		if share := b.Share(); !o.quick && (share < 1-tolerance || share > 1+tolerance) {
			r.Errors = append(r.Errors, fmt.Sprintf("budget: %s: the layers are %.0f %% of the measured time", b.Name, 100*share))
		}
		if o.flames == "" {
			continue
		}
		if err := writeFile(filepath.Join(o.flames, b.File), func(w io.Writer) error { return b.Profile.Flame(w, b.Name) }); err != nil {
			return err
		}
	}
	return nil
}

// budgets prints the budgets alone.
func (r *report) budgets(w io.Writer) error {
	var b strings.Builder
	r.writeBudgets(&b)
	for _, e := range r.Errors {
		b.WriteString("\nERROR " + e + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
