package caller_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/outbound/caller"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/peer"
	"github.com/parley-a2a/parley/internal/outbound/transport"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startHub serves the built-in agents over gRPC and returns the address.
func startHub(t *testing.T) string {
	t.Helper()
	e := engine.New(engine.Config{Store: new(memstore.Store)})
	for _, a := range builtin.Agents() {
		a.Card.Capabilities.Extensions = []a2a.AgentExtension{{URI: "urn:x:a"}}
		if err := e.Register(engine.Agent{Name: task.Agent(a.Card.Name), Card: a.Card, Executor: a.Executor}); err != nil {
			t.Fatal(err)
		}
	}
	_, address, _ := hubtest.Serve(t, hubtest.Parts{Engine: e, GRPC: grpcbind.New(grpcbind.Config{Engine: e})})
	return address
}

func dial(t *testing.T, address, agent string, version a2a.ProtocolVersion) *peer.Peer {
	t.Helper()
	p, err := peer.New(&card.Card{A2A: &a2a.AgentCard{
		Name: agent, Capabilities: a2a.AgentCapabilities{Streaming: true},
		SupportedInterfaces: []*a2a.AgentInterface{{
			URL: address, ProtocolBinding: a2a.TransportProtocolGRPC, ProtocolVersion: version, Tenant: agent,
		}},
	}}, &peer.Options{Transports: map[a2a.TransportProtocol]transport.Factory{a2a.TransportProtocolGRPC: caller.Dial}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func TestBothVersions(t *testing.T) {
	t.Parallel()
	address := startHub(t)
	const say = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"},{"data":7},{"raw":"AAEC","mediaType":"x/y"}]}}`
	for _, version := range []a2a.ProtocolVersion{"1.0", "0.3.0"} {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			echo := dial(t, address, "echo", version)
			e, err := echo.Send(t.Context(), []byte(say))
			if err != nil || e.State != a2a.TaskStateCompleted || !strings.Contains(string(e.JSON), `"text":"hello"`) {
				t.Fatalf("Send() = %s, %v, want the echo", e.JSON, err)
			}
			if got, err := echo.Get(t.Context(), e.TaskID, nil); err != nil || got.TaskID != e.TaskID {
				t.Errorf("Get() = %s, %v", got.JSON, err)
			}
			var last peer.Event
			for e, err := range echo.Run(t.Context(), []byte(say)) {
				if err != nil {
					t.Fatalf("Run() = %v", err)
				}
				last = e
			}
			if last.State != a2a.TaskStateCompleted {
				t.Errorf("Run() ends with %s", last.JSON)
			}
			page, err := echo.List(t.Context(), nil)
			if listed := err == nil && strings.Contains(string(page), string(e.TaskID)); listed != (version == "1.0") {
				t.Errorf("List() = %s, %v", page, err)
			}
			_, err = echo.Cancel(t.Context(), e.TaskID, nil)
			var agent *client.Error
			if !errors.As(err, &agent) || !errors.Is(err, a2a.ErrTaskNotCancelable) || agent.Code != -32002 {
				t.Errorf("Cancel() = %v, want not cancelable", err)
			}
			if _, err := echo.Get(t.Context(), "nothing", nil); !errors.Is(err, a2a.ErrTaskNotFound) {
				t.Errorf("Get(nothing) = %v, want not found", err)
			}
		})
	}
}

// TestConfirmedOverGRPC checks that extensions confirmed in the metadata of an answer are
// reported for messages, and not for other calls.
func TestConfirmedOverGRPC(t *testing.T) {
	t.Parallel()
	address := startHub(t)
	for _, version := range []a2a.ProtocolVersion{"1.0", "0.3.0"} {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			slow, echo := dial(t, address, "slow", version), dial(t, address, "echo", version)
			var id a2a.TaskID
			for _, tt := range []struct {
				name string
				call func(context.Context) error
				want [][]string
			}{
				{"Send", func(ctx context.Context) error {
					_, err := echo.Send(ctx, []byte(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}}`))
					return err
				}, [][]string{{"urn:x:a"}}},
				{"Stream", func(ctx context.Context) error {
					for e, err := range slow.Stream(ctx, []byte(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"60"}]}}`)) {
						id = e.TaskID
						return err
					}
					return nil
				}, [][]string{{"urn:x:a"}}},
				{"Subscribe", func(ctx context.Context) error {
					for _, err := range slow.Subscribe(ctx, transport.Position{Task: id}) {
						return err
					}
					return nil
				}, nil},
				{"Get", func(ctx context.Context) error {
					_, err := slow.Get(ctx, id, nil)
					return err
				}, nil},
				{"Cancel", func(ctx context.Context) error {
					_, err := slow.Cancel(ctx, id, nil)
					return err
				}, nil},
			} {
				var got [][]string
				ctx := peer.WithExtensions(t.Context(), []string{"urn:x:a", "urn:x:b"})
				if err := tt.call(peer.WithConfirmed(ctx, func(uris []string) { got = append(got, uris) })); err != nil {
					t.Fatalf("%s: %v", tt.name, err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("reports of %s mismatch (-want +got):\n%s", tt.name, diff)
				}
			}
		})
	}
}

func TestAbort(t *testing.T) {
	t.Parallel()
	address := startHub(t)
	for _, version := range []a2a.ProtocolVersion{"1.0", "0.3.0"} {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			slow := dial(t, address, "slow", version)
			gone := errors.New("the caller is gone")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var id a2a.TaskID
			var last error
			for e, err := range slow.Run(ctx, []byte(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"60"}]}}`)) {
				if last = err; err == nil {
					id = e.TaskID
					cancel(gone)
				}
			}
			if !errors.Is(last, gone) {
				t.Errorf("Run() ends with %v, want the cause", last)
			}
			if got, err := slow.Get(t.Context(), id, nil); err != nil || got.State != a2a.TaskStateCanceled {
				t.Errorf("the remote task is %s, %v, want it canceled", got.State, err)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	p := dial(t, "127.0.0.1:1", "x", "1.0")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := caller.Connect(ctx, "127.0.0.1:1"); !errors.Is(err, client.ErrUnreachable) {
		t.Errorf("Connect() = %v, want ErrUnreachable", err)
	}
	o := &peer.Options{Retries: -1, Transports: map[a2a.TransportProtocol]transport.Factory{a2a.TransportProtocolGRPC: caller.Dial}}
	once, err := peer.New(p.Card(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := once.Get(ctx, "t", nil); !errors.Is(err, client.ErrUnreachable) {
		t.Errorf("Get() = %v, want ErrUnreachable", err)
	}
}
