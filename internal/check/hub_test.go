package check

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/grpc"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/check/testagent"
	"github.com/parley-a2a/parley/internal/check/wire"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// features select the features of a hub under test. The zero value is JSON-RPC, HTTP+JSON and
// gRPC in v1.0 without streams and webhooks.
type features struct {
	streaming, push, extended bool
	key                       string
	// ends is the delay after which tasks that wait or run forever end nevertheless; 0 means
	// never.
	ends   time.Duration
	defect defect
}

// everything enables all features.
var everything = features{streaming: true, push: true, extended: true, key: "k-123456789"}

// started starts a hub with the agent of the kits and returns the options for checking it.
func started(t *testing.T, f *features) Options {
	t.Helper()
	card, executor := testagent.Card(), testagent.Executor()
	if f.ends > 0 {
		executor = ending(executor, f.ends)
	}
	m := hubtest.InMemory(t, hubtest.MemoryOptions{
		Agent:     engine.Agent{Name: testagent.Name, Card: card, Executor: executor},
		Streaming: f.streaming, Push: f.push, Extended: f.extended, Key: f.key,
		Handler: f.defect.handler,
		Notify:  func(next http.RoundTripper) http.RoundTripper { return notifier{next, f.defect.push} },
		GRPC:    []grpc.ServerOption{grpc.UnaryInterceptor(f.defect.unary), grpc.StreamInterceptor(f.defect.stream)},
	})
	return Options{
		URL: hubtest.MemoryURL, Listener: m.Listen("hooks.test"), Webhook: "http://hooks.test",
		Wire: wire.Options{HTTP: m.HTTP, Key: f.key, Dial: func(context.Context, string) (wire.Conn, error) { return m.DialGRPC() }},
	}
}

// ending returns an executor whose open tasks end after a delay.
func ending(x a2asrv.AgentExecutor, after time.Duration) a2asrv.AgentExecutor {
	return agent.Func(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if text := agent.Text(ec.Message); !strings.HasPrefix(text, "tck-cancel") && !strings.HasPrefix(text, "tck-input-required") {
			x.Execute(ctx, ec)(yield)
			return
		}
		if !yield(agent.Status(ec, a2a.TaskStateWorking), nil) {
			return
		}
		select {
		case <-time.After(after):
			yield(agent.Status(ec, a2a.TaskStateCompleted), nil)
		case <-ctx.Done():
		}
	})
}

// checked checks a hub.
func checked(t *testing.T, f features, only ...string) *Report {
	t.Helper()
	o := started(t, &f)
	o.Only = only
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	return r
}
