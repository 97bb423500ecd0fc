package isolation

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/push"
	"github.com/parley-a2a/parley/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(hubtest.M{M: m}) }

// patience is the time limit for operations that should return immediately.
const patience = time.Minute

// keeper is a pusher that delivers nothing. It keeps secrets in clear text, so that the tests
// can find them.
type keeper struct{}

func (keeper) Prepare(c *task.HookRequest) (*task.Hook, error) {
	return &task.Hook{ID: c.ID, URL: c.URL, Scheme: c.Scheme, Secret: []byte(c.Token + c.Credentials)}, nil
}

func (keeper) Status(task.HookRef) (push.Status, bool) { return push.Status{}, false }

func (keeper) Redeliver(context.Context, task.HookRef) (task.Hooked, error) {
	return task.Hooked{}, task.ErrNotFound
}

// caller is a principal with a key and its connections.
type caller struct {
	// mark is part of all data of the caller.
	mark  string
	owner task.Owner
	key   string
	tap   *tap
	// extensions are the A2A extensions that the caller names in each call; "" names none.
	extensions string
	http       *http.Client
	grpc       *grpc.ClientConn
}

// naming returns the caller, which names extensions in its calls.
func (c *caller) naming(extensions string) *caller {
	named := *c
	named.extensions = extensions
	return &named
}

// tap records all bytes that were read from connections.
type tap struct {
	mu  sync.Mutex
	got []byte
}

func (p *tap) dial(ctx context.Context, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return tapped{c, p}, nil
}

// bytes returns a copy of the recorded bytes.
func (p *tap) bytes() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]byte(nil), p.got...)
}

type tapped struct {
	net.Conn
	tap *tap
}

func (c tapped) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	c.tap.got = append(c.tap.got, b[:n]...)
	return n, err
}

// hub is a hub with two callers.
type hub struct {
	t        *testing.T
	store    *spy
	addr     string
	ann, bob *caller
}

// onEachStore runs f with a hub on each kind of store.
func onEachStore(t *testing.T, f func(t *testing.T, h *hub)) {
	t.Helper()
	t.Parallel()
	for _, kind := range []string{"memory", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f(t, start(t, kind))
		})
	}
}

func start(t *testing.T, kind string) *hub {
	t.Helper()
	h := &hub{t: t, store: newSpy(t, kind)}
	h.ann, h.bob = newCaller("annmark"), newCaller("bobmark")
	keys := &auth.Keyring{Configured: []auth.Key{h.ann.apiKey(t), h.bob.apiKey(t)}}
	e := engine.New(engine.Config{
		Store: h.store, Push: keeper{}, DrainTimeout: -1, Extended: engine.ExtendedCards{Authenticated: true}, ShareTrees: []string{"*"},
	})
	if err := e.Register(engine.Agent{Name: "vault", Card: vaultCard(), Executor: newVault()}); err != nil {
		t.Fatal(err)
	}
	front := httpfront.New(httpfront.Config{
		Engine: e, Auth: keys,
		API: &adminapi.Handler{
			Hub: e, Tasks: h.store, Keys: keys, Version: "test", Started: time.Now(),
			Push: &adminapi.Push{Desk: h.store, Pusher: keeper{}},
		},
	})
	h.serve(e, front, grpcbind.New(grpcbind.Config{Engine: e, Auth: keys}))
	return h
}

// serve runs the hub until the test ends.
func (h *hub) serve(e *engine.Engine, front http.Handler, binding *grpcbind.Binding) {
	var grpcAddr string
	h.addr, grpcAddr, _ = hubtest.Serve(h.t, hubtest.Parts{Engine: e, Front: front, GRPC: binding})
	for _, c := range []*caller{h.ann, h.bob} {
		c.connect(h.t, grpcAddr)
	}
	h.t.Cleanup(func() {
		for _, c := range []*caller{h.ann, h.bob} {
			c.http.CloseIdleConnections()
			c.grpc.Close()
		}
	})
}

func newCaller(mark string) *caller {
	return &caller{mark: mark, owner: task.Owner(mark + "-principal"), key: mark + "-key-that-is-long-enough", tap: new(tap)}
}

func (c *caller) apiKey(t *testing.T) auth.Key {
	t.Helper()
	k, err := auth.ConfiguredKey(c.key, auth.Principal{
		ID: string(c.owner), DisplayName: c.mark + "-display", Roles: []string{c.mark + "-role"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return *k
}

// connect creates the clients of c, without compression, so that the tap records clear text.
func (c *caller) connect(t *testing.T, grpcAddr string) {
	t.Helper()
	c.http = &http.Client{Timeout: patience, Transport: &http.Transport{
		DisableCompression: true,
		DialContext:        func(ctx context.Context, _, addr string) (net.Conn, error) { return c.tap.dial(ctx, addr) },
	}}
	var err error
	c.grpc, err = grpc.NewClient("passthrough:///"+grpcAddr,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(c.tap.dial))
	if err != nil {
		t.Fatal(err)
	}
}
