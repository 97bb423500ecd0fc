package hubtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/engine/enginetest"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/webhooks"
	"github.com/parley-a2a/parley/push"
)

// The addresses of a hub in memory.
const (
	// MemoryURL is the URL above the card.
	MemoryURL  = "http://hub.test"
	memoryHTTP = "hub.test:80"
	memoryGRPC = "hub.test:50051"
)

// MemoryOptions configure a hub in memory. Only Agent is required. Without further options the
// hub offers v1.0 over JSON-RPC, HTTP+JSON and gRPC.
type MemoryOptions struct {
	// Agent is the only agent.
	Agent engine.Agent
	// Streaming, Push and Extended enable streams, webhooks at any address, and the extended
	// card, which callers with the Key may read.
	Streaming, Push, Extended bool
	// Key is the required credential; if empty, none is required.
	Key string
	// Handler wraps the handler of the HTTP server, and Notify the transport of notifications.
	// Nil functions change nothing.
	Handler func(http.Handler) http.Handler
	Notify  func(http.RoundTripper) http.RoundTripper
	// GRPC are further options of the gRPC server.
	GRPC []grpc.ServerOption
}

// Memory is a hub whose connections are in memory, so that it runs in a synctest bubble.
type Memory struct {
	// HTTP connects to the hub, and to the listeners of Listen.
	HTTP *http.Transport

	mu        sync.Mutex // guards the field below
	listeners map[string]*bufconn.Listener
}

// InMemory starts a hub in memory, which ends with the test.
func InMemory(tb testing.TB, o MemoryOptions) *Memory {
	tb.Helper()
	m := &Memory{listeners: map[string]*bufconn.Listener{}}
	m.HTTP = &http.Transport{DialContext: m.dial, DisableKeepAlives: true}
	e := m.engine(tb, &o)
	front := httpfront.Config{
		Engine: e, Auth: auth.Anyone(), PublicURL: MemoryURL, GRPCAddr: memoryGRPC, NoStreaming: !o.Streaming,
	}
	back := grpcbind.Config{Engine: e, Auth: auth.Anyone(), PublicURL: MemoryURL, NoStreaming: !o.Streaming, Options: o.GRPC}
	if o.Key != "" {
		key, err := auth.ConfiguredKeyOf(o.Key, auth.Principal{ID: "caller"}, 1)
		if err != nil {
			tb.Fatal(err)
		}
		keys := &auth.Keyring{Configured: []auth.Key{*key}}
		front.Auth, back.Auth = keys, keys
	}
	p := Parts{
		Engine: e, Front: httpfront.New(front), GRPC: grpcbind.New(back),
		Listener: m.listen(memoryHTTP), GRPCListener: m.listen(memoryGRPC),
	}
	if o.Handler != nil {
		p.Front = o.Handler(p.Front)
	}
	Serve(tb, p)
	return m
}

// engine returns an engine with the agent. It delivers notifications until the test ends.
func (m *Memory) engine(tb testing.TB, o *MemoryOptions) *engine.Engine {
	tb.Helper()
	store := new(memstore.Store)
	c := engine.Config{Store: store, Extended: engine.ExtendedCards{Authenticated: o.Extended}, NoClientIDs: true, Limits: limits.Limits{DrainTimeout: -1}}
	if o.Push {
		enginetest.Deliver(&c, m.pusher(tb, store, o.Notify))
	}
	e := engine.New(c)
	if err := e.Register(o.Agent); err != nil {
		tb.Fatal(err)
	}
	return e
}

func (m *Memory) pusher(tb testing.TB, store webhooks.Store, wrap func(http.RoundTripper) http.RoundTripper) *webhooks.Dispatcher {
	tb.Helper()
	c := webhooks.Config{Options: push.Options{Allow: []string{"all"}}, Store: store, Transport: m.HTTP}
	if wrap != nil {
		c.Transport = wrap(m.HTTP)
	}
	d, err := webhooks.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = d.Run(ctx) }) // always nil
	tb.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return d
}

// Listen returns a listener at port 80 of host, which the hub can reach.
func (m *Memory) Listen(host string) net.Listener { return m.listen(host + ":80") }

func (m *Memory) listen(addr string) net.Listener {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := bufconn.Listen(4 << 10)
	m.listeners[addr] = l
	return l
}

func (m *Memory) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	m.mu.Lock()
	l := m.listeners[addr]
	m.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("no listener at %s", addr)
	}
	return l.DialContext(ctx)
}

// DialGRPC connects to the hub over gRPC. The caller closes the connection.
func (m *Memory) DialGRPC() (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+memoryGRPC, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return m.dial(ctx, "tcp", addr) }))
}
