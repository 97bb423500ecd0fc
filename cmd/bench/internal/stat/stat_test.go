package stat_test

import (
	"testing"
	"time"

	"github.com/parley-a2a/parley/cmd/bench/internal/stat"
)

func TestQuantile(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(100 - i)
	}
	for _, tt := range []struct {
		d    []time.Duration
		q    float64
		want time.Duration
	}{
		{nil, 0.5, 0},
		{[]time.Duration{7}, 0.99, 7},
		{[]time.Duration{7}, 0, 7},
		{hundred, 0.5, 50},
		{hundred, 0.99, 99},
		{hundred, 1, 100},
		{[]time.Duration{3, 1, 2}, 0.5, 2},
	} {
		if got := stat.Quantile(tt.d, tt.q); got != tt.want {
			t.Errorf("Quantile(%v, %v) = %v, want %v", tt.d, tt.q, got, tt.want)
		}
	}
}

func TestMedianAndSpread(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		values         []float64
		median, spread float64
	}{
		{nil, 0, 0},
		{[]float64{4}, 4, 0},
		{[]float64{30, 10, 20}, 20, 1},
		{[]float64{1, 2, 3, 4}, 2.5, 1.2},
		{[]float64{0, 0}, 0, 0},
	} {
		in := append([]float64(nil), tt.values...)
		if got := stat.Median(in); got != tt.median {
			t.Errorf("Median(%v) = %v, want %v", tt.values, got, tt.median)
		}
		if got := stat.Spread(in); got != tt.spread {
			t.Errorf("Spread(%v) = %v, want %v", tt.values, got, tt.spread)
		}
		for i := range in {
			if in[i] != tt.values[i] {
				t.Errorf("the values were changed to %v", in)
			}
		}
	}
}
