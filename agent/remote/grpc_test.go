package remote_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/outbound/caller"
	"github.com/parley-a2a/parley/internal/outbound/transport"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/task"
)

// startGRPC serves the agent echo over gRPC, and a card at the URL that offers nothing else.
// who authenticates the callers; nil accepts all.
func startGRPC(t *testing.T, version string, who auth.Authenticator) (cardURL string) {
	t.Helper()
	e := engine.New(engine.Config{Store: new(memstore.Store)})
	for _, a := range builtin.Agents() {
		if err := e.Register(engine.Agent{Name: a.Name, Card: a.Card, Executor: a.Executor}); err != nil {
			t.Fatal(err)
		}
	}
	_, address, _ := hubtest.Serve(t, hubtest.Parts{Engine: e, GRPC: grpcbind.New(grpcbind.Config{Engine: e, Auth: who})})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"name":"echo","description":"d","version":"1","capabilities":{"streaming":true},"skills":[],`+
			`"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],`+
			`"supportedInterfaces":[{"url":%q,"protocolBinding":"GRPC","protocolVersion":%q}]}`, address, version)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestAgentOverGRPC checks that an agent whose card offers gRPC alone is called over gRPC, if
// the transport is configured.
func TestAgentOverGRPC(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"1.0", "0.3.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			url := startGRPC(t, version, nil)
			far := &remote.Agent{URL: url, Transports: map[a2a.TransportProtocol]transport.Factory{a2a.TransportProtocolGRPC: caller.Dial}}
			t.Cleanup(func() {
				if err := far.Close(); err != nil {
					t.Error(err)
				}
			})
			h := startHub(t, map[string]a2asrv.AgentExecutor{"far": far}, nil)
			a := h.send(newSend("hello there"))
			if a.Head.State != task.Completed || words(a) != "hello there" {
				t.Errorf("send = %s, want the echo", describe(a))
			}
		})
	}
}

// TestIdentityOverGRPC checks that the caller's identity is sent as metadata, anew with each call.
func TestIdentityOverGRPC(t *testing.T) {
	t.Parallel()
	received := make(chan []string, 100)
	url := startGRPC(t, "1.0", auth.Func(func(_ context.Context, r *auth.Request) (*auth.Principal, error) {
		received <- r.Header("x-caller")
		return &auth.Principal{ID: "peer"}, nil
	}))
	far := &remote.Agent{
		URL: url, Identity: numbered(), Transports: map[a2a.TransportProtocol]transport.Factory{a2a.TransportProtocolGRPC: caller.Dial},
	}
	t.Cleanup(func() {
		if err := far.Close(); err != nil {
			t.Error(err)
		}
	})
	h := startHub(t, map[string]a2asrv.AgentExecutor{"far": far}, nil)
	for _, want := range []string{"alice/1", "alice/2"} {
		if a := h.send(newSend(want)); a.Head.State != task.Completed {
			t.Fatalf("send = %s", describe(a))
		}
		if diff := cmp.Diff([]string{want}, <-received); diff != "" {
			t.Errorf("the agent received (-want +got):\n%s", diff)
		}
	}
}
