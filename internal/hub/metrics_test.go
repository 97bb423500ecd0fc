package hub

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	nometric "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/conns"
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/task"
)

// counted is a store that reports a fixed number of tasks.
type counted struct {
	memstore.Store
	err error
}

// States implements Census.
func (c *counted) States(context.Context) (map[task.State]int, error) {
	return map[task.State]int{task.Completed: 7}, c.err
}

// read returns the values of a metric by the value of its only label.
func read(t *testing.T, reader sdkmetric.Reader, name string) (map[string]int64, error) {
	t.Helper()
	var all metricdata.ResourceMetrics
	err := reader.Collect(t.Context(), &all)
	got := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			var points []metricdata.DataPoint[int64]
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				points = d.DataPoints
			case metricdata.Gauge[int64]:
				points = d.DataPoints
			}
			for _, p := range points {
				if kvs := p.Attributes.ToSlice(); m.Name == name && len(kvs) == 1 {
					got[kvs[0].Value.String()] = p.Value
				} else if m.Name == name {
					got[""] = p.Value
				}
			}
		}
	}
	return got, err
}

// oneOfTwo returns a limit with one connection, for which another one was closed.
func oneOfTwo(t *testing.T) *conns.Limit {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limit := &conns.Limit{Max: 1}
	l := limit.Listen(inner)
	t.Cleanup(func() { l.Close() })
	for range 2 {
		peer, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { peer.Close(); c.Close() })
	}
	return limit
}

// TestMetrics does not run in parallel: the provider belongs to the process.
func TestMetrics(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	t.Cleanup(func() { otel.SetMeterProvider(nometric.NewMeterProvider()) })
	store := new(counted)
	budget := &membudget.Budget{Max: 200, Wait: time.Nanosecond}
	hub := measured{
		engine: engine.New(engine.Config{Store: store, Memory: budget}), store: store, connections: oneOfTwo(t), version: "1.2.3", commit: "abc",
	}
	if _, err := budget.Acquire(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	if _, err := budget.Acquire(t.Context(), 150); err == nil {
		t.Fatal("250 bytes of 200 were acquired")
	}
	stop, err := watchHub(hub)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]map[string]int64{
		"parley.runs":        {"": 0},
		"parley.connections": {"": 1}, "parley.connections.closed": {"": 1},
		"parley.memory": {"": 100}, "parley.memory.refused": {"": 1},
		"parley.agents":          {"": 0},
		"parley.ready":           {"recovered": 0, "accepting": 1, "store": 1},
		"parley.build.info":      {"": 1},
		"parley.webhook.backlog": {"waiting": 0, "underway": 0, "asleep": 0},
		"parley.tasks": {
			"submitted": 0, "working": 0, "completed": 7, "failed": 0, "canceled": 0,
			"input_required": 0, "rejected": 0, "auth_required": 0,
		},
	} {
		got, err := read(t, reader, name)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s mismatch, %v (-want +got):\n%s", name, err, diff)
		}
	}
	store.err = errors.New("away")
	if got, err := read(t, reader, "parley.runs"); !errors.Is(err, store.err) || len(got) != 1 {
		t.Errorf("with a store that fails: %v, %v; want the other numbers and the error", got, err)
	}
	stop()
	if got, _ := read(t, reader, "parley.runs"); len(got) != 0 {
		t.Errorf("after stop there are still numbers: %v", got)
	}
}
