package front_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/parts/rockbot/exchange"
	"github.com/parley-a2a/parley/internal/parts/rockbot/front"
)

// TestRequestsAreLimited checks that each caller has its own rate limit, and may retry later.
func TestRequestsAreLimited(t *testing.T) {
	t.Parallel()
	hub := &parley.Hub{Limits: parley.Limits{RequestsPerSecond: 0.001, Burst: 2}}
	hub.Handle(&a2a.AgentCard{Name: "helper", Version: "1"}, agent.Func(helper))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = hub.Run(ctx) })
	defer running.Wait()
	defer cancel()
	s := &front.Server{Engine: hub.Engine().(*engine.Engine)}
	send := func(who string, n int) error {
		d := dialect.Decoder{Fill: true}
		r, err := d.Job(fmt.Appendf(nil, `{"taskId":"t%d","message":{"role":"user","parts":[{"kind":"text","text":"x"}]}}`, n))
		if err != nil {
			t.Fatal(err)
		}
		r.Agent, r.NewIDs, r.Once, r.Task = "helper", true, true, true
		_, err = s.Send(t.Context(), &exchange.Request{Caller: who, Send: r}, func([]byte) {})
		return err
	}
	for n := range 2 {
		if err := send("Ann", n); err != nil {
			t.Fatalf("request %d: %v", n, err)
		}
	}
	for what, err := range map[string]error{"request": send("Ann", 2), "cancel": s.Cancel(t.Context(), "Ann", &op.Cancel{ID: "t0"})} {
		var f *apierror.Error
		if !errors.As(err, &f) || f.RetryAfter <= 0 {
			t.Errorf("a third %s: %v, want one that says when to come again", what, err)
		}
	}
	if err := send("Bob", 0); err != nil {
		t.Errorf("another caller: %v", err)
	}
}
