package rows

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/parley-a2a/parley/cmd/bench/internal/child"

	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	r := summary("a", "x/s", []run{
		{ops: 10, units: 10, wall: time.Second, used: child.Usage{CPU: 100 * ms}, mallocs: 1_000, latencies: []time.Duration{1 * ms, 2 * ms, 9 * ms}},
		{ops: 30, units: 10, wall: time.Second, used: child.Usage{CPU: 300 * ms}, mallocs: 6_000, latencies: []time.Duration{3 * ms}},
		{ops: 20, units: 10, wall: time.Second, used: child.Usage{CPU: 600 * ms}, mallocs: 2_000, latencies: []time.Duration{4 * ms}},
	})
	if r.Value != 200 || r.Spread != 1 || r.CPU != ms || r.Allocs != 10 || r.P50 != 3*ms || r.P99 != 4*ms {
		t.Errorf("summary = %+v", r)
	}
}

func TestRepeat(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var seen []uint64
	_, err := repeat(t.Context(), func(n uint64) error {
		if seen = append(seen, n); len(seen) == 3 {
			return broken
		}
		return nil
	}, 7, time.Now().Add(time.Hour))
	if !errors.Is(err, broken) || len(seen) != 3 || seen[2] != 9 {
		t.Errorf("repeat = %v after %v, want the error of the third call", err, seen)
	}
	lat, err := repeat(t.Context(), func(uint64) error { return nil }, 0, time.Now())
	if err != nil || len(lat) != 1 {
		t.Errorf("repeat without time = %v, %v, want one call", lat, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = repeat(ctx, func(uint64) error { cancel(); return nil }, 0, time.Now().Add(time.Hour))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("repeat = %v, want that of its context", err)
	}
}

// TestEach checks the handling of a server's error: it becomes the row's error, or a line
// without a number.
func TestEach(t *testing.T) {
	t.Parallel()
	wrong := errors.New("wrong answer")
	late := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for _, tt := range []struct {
		name string
		kind serve.Kind
		f    func(context.Context) error
		left bool
		ok   bool
	}{
		{"fine", serve.GoSDK, func(context.Context) error { return nil }, false, true},
		{"wrong", serve.GoSDK, func(context.Context) error { return wrong }, false, false},
		{"left out", serve.JSSDK, func(context.Context) error { return ErrLeftOut }, true, true},
		{"late peer", serve.GoSDK, late, true, true},
		{"late ourselves", serve.ParleySQLite, late, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := &Bench{Log: t.Logf, Load: Load{Patience: time.Millisecond}}
			rs, err := b.each(t.Context(), "row", []serve.Kind{tt.kind}, func(ctx context.Context, k serve.Kind) ([]Result, error) {
				if tt.ok && !tt.left {
					return []Result{{Server: k, Value: 1}}, nil
				}
				return nil, tt.f(ctx)
			})
			if (err == nil) != tt.ok {
				t.Fatalf("each = %v, want ok %v", err, tt.ok)
			}
			if got := len(rs) == 1 && rs[0].Left != "" && rs[0].Value == 0 && rs[0].Row == "row"; got != tt.left {
				t.Errorf("results = %+v, want one left out: %v", rs, tt.left)
			}
		})
	}
}

func TestOpenFiles(t *testing.T) {
	t.Parallel()
	if err := openFiles(1); err != nil {
		t.Errorf("openFiles(1) = %v", err)
	}
	if err := openFiles(1 << 40); err == nil {
		t.Error("openFiles says that a million million files may be open")
	}
}
