package hub

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/parley-a2a/parley/internal/secret/seal"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/push"
)

// TestServicesStopInOrder checks that services stop when the hub stops, then the server is
// closed, and late services stop after the last answer was sent.
func TestServicesStopInOrder(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var early, late context.Context
	ended, started := make(chan struct{}), make(chan struct{})
	closed := false
	h := mounted(t, Parts{Store: new(memstore.Store), MCP: mcpStub{func() {
		<-ended
		closed = true
		if late.Err() != nil {
			t.Error("a late service stops before the server")
		}
	}}}, Settings{})
	srv := h.NewServer()
	err = h.Run(ctx, Work{
		Server: srv, Serve: func() error { return srv.Serve(l) },
		Services: []Service{
			{Name: "early", Run: func(ctx context.Context) error {
				early = ctx
				<-started
				cancel()
				<-ctx.Done()
				close(ended)
				return nil
			}},
			{Name: "late", Late: true, Run: func(ctx context.Context) error {
				late = ctx
				close(started)
				<-ctx.Done()
				if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
					t.Error("the server is open when a late service stops")
				}
				return nil
			}},
		},
	})
	if err != nil || early.Err() == nil || late.Err() == nil || !closed {
		t.Errorf("Run = %v, early %v, late %v, MCP closed: %t", err, early.Err(), late.Err(), closed)
	}
}

// mcpStub is an endpoint without tools.
type mcpStub struct{ close func() }

func (mcpStub) Handler(http.Handler) http.Handler { return http.NotFoundHandler() }

func (m mcpStub) Close() { m.close() }

func TestErrorOfAServiceStopsTheHub(t *testing.T) {
	t.Parallel()
	h := mounted(t, Parts{Store: new(memstore.Store)}, Settings{})
	broken := errors.New("broken")
	err := h.Run(t.Context(), Work{Services: []Service{
		{Name: "bad", Run: func(context.Context) error { return broken }},
		{Name: "late", Late: true, Run: func(ctx context.Context) error { <-ctx.Done(); return nil }},
	}})
	if !errors.Is(err, broken) {
		t.Errorf("Run = %v, want the error of the service", err)
	}
	srv := &http.Server{}
	err = mounted(t, Parts{Store: new(memstore.Store)}, Settings{}).Run(t.Context(), Work{Server: srv, Serve: func() error { return broken }})
	if !errors.Is(err, broken) {
		t.Errorf("Run with a broken listener = %v, want its error", err)
	}
}

// TestPushKey checks that a key file in the push options takes precedence over the box of the
// hub.
func TestPushKey(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "none")
	bad := Settings{Push: push.Options{KeyFile: filepath.Join(folder, "key")}}
	if _, err := New(Parts{Store: new(memstore.Store), Box: seal.New()}, bad); err == nil {
		t.Error("New does not read the key file of the push options")
	}
	h, err := New(Parts{Store: new(memstore.Store), Box: seal.New()}, Settings{})
	if err != nil || h.Pusher() == nil {
		t.Errorf("New = %v, pusher %v", err, h.Pusher())
	}
	bad.Push.Off = true
	if h, err = New(Parts{Store: new(memstore.Store)}, bad); err != nil || h.Pusher() != nil {
		t.Errorf("New without push = %v, pusher %v", err, h.Pusher())
	}
}

func TestCheckAddr(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]error{
		"127.0.0.1:1": nil, "[::1]:1": nil, "localhost:1": nil,
		"0.0.0.0:1": ErrAnonymous, ":1": ErrAnonymous, "example.com:1": ErrAnonymous,
	} {
		if err := CheckAddr(addr); !errors.Is(err, want) {
			t.Errorf("CheckAddr(%s) = %v, want %v", addr, err, want)
		}
	}
	if err := CheckAddr("127.0.0.1"); err == nil || errors.Is(err, ErrAnonymous) {
		t.Errorf("CheckAddr without a port = %v", err)
	}
}

func mounted(t *testing.T, p Parts, s Settings) *Hub {
	t.Helper()
	h, err := New(p, s)
	if err != nil {
		t.Fatal(err)
	}
	h.Mount(Front{})
	return h
}
