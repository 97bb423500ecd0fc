package parley

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/hub"
	"github.com/parley-a2a/parley/internal/limits"
	_ "github.com/parley-a2a/parley/internal/parts/aguifront" // every hub of an embedder has both surfaces, and the dialects
	_ "github.com/parley-a2a/parley/internal/parts/openaifront"
	_ "github.com/parley-a2a/parley/internal/parts/promptkit"
	_ "github.com/parley-a2a/parley/internal/parts/rockbot/gateway"
	"github.com/parley-a2a/parley/internal/recorder"
	"github.com/parley-a2a/parley/internal/secret/seal"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/push"
	"github.com/parley-a2a/parley/task"
)

// ErrAnonymous is returned if a hub without an authenticator is to listen on an address that
// other machines can reach. Set Hub.Auth.
var ErrAnonymous = hub.ErrAnonymous

// Hub receives A2A requests and runs them on agents. The zero value keeps everything in memory,
// accepts callers on this machine, and is ready to use.
type Hub struct {
	// Store keeps the tasks: DB.Tasks of package sqlitestore or pgstore. If nil, they are kept in
	// memory and end with the process.
	Store Store
	// KeyFile is the file with the master key; the hub creates it if it does not exist. With
	// it, page tokens stay valid after a restart, and so do the secrets of webhooks in the
	// Store, unless Push.KeyFile names another file. If empty, page tokens end with the process.
	KeyFile string
	// PublicURL is the address under which callers reach the hub, for agent cards. If empty,
	// cards name the host of the request.
	PublicURL string
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger

	// Auth identifies the principal of each call. If nil, every caller is the anonymous
	// principal "local", the hub listens on loopback addresses only, and it refuses requests that a
	// proxy has forwarded. auth.Anyone accepts anonymous callers from everywhere.
	Auth auth.Authenticator
	// Policy decides which operations a caller may perform with which agent. If nil, every
	// caller may perform all operations on its own tasks.
	Policy *Policy
	// Trust holds the trust levels of callers, for Answerer and API. The hub runs it and
	// counts the messages of callers in it; load it before. If nil, nothing is counted.
	Trust *Trust
	// Audit is the log of the operations of callers on tasks and below /api/v1. The hub refuses
	// an operation that cannot be written to the log. Close it after the hub has run. If nil,
	// nothing is logged.
	Audit *Audit
	// Asserter vouches for callers towards other services, for executors that call them
	// (auth.Assert). Use a *token.Asserter, and publish its keys where the services can fetch
	// them (token.KeySet). If nil, auth.Assert returns auth.ErrNoAsserter.
	Asserter auth.Asserter

	// Limits bound time and space. The zero Limits are sensible.
	Limits Limits
	// Idempotency selects the messages that are accepted at most once. With the zero value,
	// every message is a new one.
	Idempotency Idempotency
	// Push configures the delivery to webhooks. The zero Options deliver to webhooks on public
	// addresses. With a Store that cannot keep webhooks, the hub has no push notifications.
	Push push.Options
	// Blobs is the folder of large parts of messages and artifacts. The hub stores their bytes
	// there once, and callers read them at an address below PublicURL, which is required. If
	// nil, all parts stay in their tasks.
	Blobs *Blobs
	// Memory records the results of tasks whose requests name a session. If nil, nothing is
	// recorded.
	Memory *Memory

	// Queues passes tasks to agents at queues: the agents whose executor is a QueueAgent with
	// these Queues. The hub runs it and sets its Tasks if they are nil. If nil, the hub does
	// not use a bus.
	Queues *Queues
	// Directory lists remote agents beside those of Handle, so that callers find them and call
	// them through the hub. The hub runs it. If nil, the hub has only the agents of Handle.
	Directory *Directory
	// Inbox holds the items that wait for a person. The hub runs it and delivers the answers to
	// the tasks that asked, unless Inbox.Deliver is set. If nil, the hub has no inbox.
	Inbox *Inbox
	// Answerer answers the questions of agents in place of their callers. Use a
	// *PolicyAnswerer whose Inbox is that of the hub. If nil, tasks wait for their
	// callers.
	Answerer Answerer

	// API serves /api/v1, the hub's own interface: agents, tasks, webhooks, and those of the
	// parts above that are set. Administrators are callers with the role auth.RoleAdmin; in a
	// hub without Auth, callers on this machine. If false, nothing is served there.
	API bool
	// MCP serves /mcp, where MCP hosts use the agents of the hub as tools. Use a *tools.Endpoint of
	// package tools, which belongs to one hub, and set API, which its tools read. If nil,
	// nothing is served there.
	MCP MCP
	// Cards configures the agent cards that the hub serves.
	Cards Cards
	// Metrics configures /metrics. The zero Metrics serve nothing there.
	Metrics Metrics

	mu     sync.Mutex // guards the fields below
	agents []engine.Agent
	core   *hub.Hub // nil until the hub is used
}

// Limits bound the resources that callers and agents may use. A zero field means its default,
// which its comment states.
type Limits = limits.Limits

// Idempotency selects the messages that are accepted at most once: those with a key, which is
// scoped to the caller and the agent. A repeated message gets the current state of the task of
// the first one. A message with other content under the same key is refused. A message with a
// key is always answered with a task. The zero value uses no keys.
type Idempotency struct {
	// Header takes the key from the header Idempotency-Key, over gRPC from the metadata
	// idempotency-key.
	Header bool
	// MessageID uses the id of a message as its key if it has no other key.
	MessageID bool
	// TTL is the time that a key is remembered, at most as long as its task; 24 h.
	TTL time.Duration
}

// Open puts the hub together: it checks the fields, opens KeyFile and registers the agents of
// Handle. Fields must not change afterwards. Run, Serve, ListenAndServe and Handler open a hub that
// is not open; call Open before them to learn of an error first. After an error, Open may be called
// again. In an open hub, Open does nothing.
func (h *Hub) Open(context.Context) error {
	_, err := h.opened()
	return err
}

// opened returns the core of the hub, which the first successful call creates from the fields.
func (h *Hub) opened() (*hub.Hub, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.core != nil {
		return h.core, nil
	}
	core, err := h.compose()
	if err != nil {
		return nil, fmt.Errorf("open hub: %w", err)
	}
	for _, a := range h.agents {
		if err := h.register(core, a); err != nil {
			return nil, fmt.Errorf("open hub: %w", err)
		}
	}
	core.Mount(h.front(core))
	h.core = core
	return core, nil
}

// compose creates the core without agents; the caller holds h.mu.
func (h *Hub) compose() (*hub.Hub, error) {
	box, err := h.box()
	if err != nil {
		return nil, fmt.Errorf("KeyFile: %w", err)
	}
	blobs, err := h.keeper()
	if err != nil {
		return nil, err
	}
	listing, err := h.listing()
	if err != nil {
		return nil, err
	}
	store := cmp.Or[Store](h.Store, new(memstore.Store))
	core, err := hub.New(hub.Parts{
		Store: store, Auth: h.Auth, Box: box, Policy: h.Policy, Recorder: h.Memory.recorder(store, h.Logger), Blobs: blobs,
		Directory: listing, MCP: h.mcp(), Notes: h.Memory.notes(), Turns: h.Memory.turns(store), Questions: h.Answerer, Asserter: h.Asserter, Bus: h.Queues, Inbox: h.Inbox, Trust: h.Trust, Audit: h.Audit, Logger: h.Logger,
	}, hub.Settings{
		Limits:      h.Limits,
		Idempotency: engine.Idempotency{Header: h.Idempotency.Header, MessageID: h.Idempotency.MessageID, TTL: h.Idempotency.TTL},
		Extended:    engine.ExtendedCards{Token: h.Cards.Extended.Token, Authenticated: h.Cards.Extended.Authenticated},
		Push:        h.Push, PublicURL: h.PublicURL, Version: Version,
	})
	if err != nil {
		return nil, err
	}
	if h.Memory != nil && h.Memory.notes().Fetch == nil {
		h.Memory.Notes.Fetch = recorder.Fetch(store)
	}
	return core, nil
}

// front returns the configuration of the HTTP front; the caller holds h.mu.
func (h *Hub) front(core *hub.Hub) hub.Front {
	f := hub.Front{
		TrustForwarded: h.Cards.TrustForwarded, GRPCAddr: h.Cards.GRPCAddr,
		Metrics: h.Metrics.Handler, MetricsReaders: hub.Readers(h.Metrics.Readers),
		Loopback: h.Auth == nil,
	}
	if h.API {
		api := core.API()
		if h.PublicURL != "" {
			api.Reach = core.Reach(h.PublicURL, h.Cards.GRPCAddr)
		}
		f.API = api
	}
	return f
}

// box opens the master key, or creates it. It returns nil if KeyFile is empty.
func (h *Hub) box() (*seal.Sealer, error) {
	if h.KeyFile == "" {
		return nil, nil
	}
	return seal.Load(h.KeyFile)
}

func (h *Hub) logger() *slog.Logger {
	if h.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return h.Logger
}

// Handle registers an agent. Its name in paths and tenants is task.AgentNamed(card.Name). The first
// registered agent is the default one. The hub fills in the interfaces and capabilities of the
// card. Handle panics if card or executor is nil, or if the name is empty or already
// registered.
func (h *Hub) Handle(card *a2a.AgentCard, executor a2asrv.AgentExecutor) {
	if card == nil || executor == nil {
		panic("parley: Handle needs a card and an executor")
	}
	a := engine.Agent{Name: task.AgentNamed(card.Name), Card: card, Executor: executor}
	if a.Name == "" {
		panic("parley: Handle needs a card with a name")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.ContainsFunc(h.agents, func(b engine.Agent) bool { return b.Name == a.Name }) {
		panic(fmt.Sprintf("parley: two agents are called %q", a.Name))
	}
	h.agents = append(h.agents, a)
	if h.core == nil {
		return
	}
	if err := h.register(h.core, a); err != nil {
		panic("parley: " + err.Error())
	}
}

// Handler returns the hub as an http.Handler, to be mounted at the root of a mux, or at the
// paths that it serves: / (JSON-RPC), /a2a, /a2a/, /v1/a2a/, /.well-known/agent-card.json,
// /.well-known/agent.json, /v1/models, /v1/chat/completions, /ag-ui, /ag-ui/, /healthz and
// /readyz; with Blobs /v1/parts/, with API /api/v1/, with MCP /mcp, with Metrics /metrics, and
// with Directory, KeyFile and PublicURL /api/a2a/callback/. Below another prefix, set PublicURL; the
// hub serves paths with and without its prefix. Call Run concurrently, and stop the server after Run has returned, so that
// callers get their answers. If the hub is not open and cannot be opened, the handler answers
// each request with status 503, and Run returns the error.
func (h *Hub) Handler() http.Handler {
	core, err := h.opened()
	if err != nil {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "the hub could not be opened; Hub.Open returns the reason", http.StatusServiceUnavailable)
		})
	}
	return core.Handler()
}

// Engine is the engine of a hub, for packages that bind the hub to further protocols (grpcbind).
// Only Hub.Engine returns one.
type Engine interface {
	// Recovered is closed when the tasks of an earlier process have been recovered.
	Recovered() <-chan struct{}
}

// Engine returns the engine of the hub. It panics if the hub is not open and cannot be opened: call
// Open before.
func (h *Hub) Engine() Engine {
	core, err := h.opened()
	if err != nil {
		panic("parley: " + err.Error())
	}
	return core.Engine()
}

// Authenticator returns the authenticator in use: Auth, or the default one, which identifies
// callers as the anonymous principal "local".
func (h *Hub) Authenticator() auth.Authenticator {
	if h.Auth == nil {
		return auth.ThisMachine()
	}
	return h.Auth
}

// Run does the work of a hub whose Handler is served by another server: it recovers the tasks
// of an earlier process and runs tasks until ctx ends. Then it drains and returns.
func (h *Hub) Run(ctx context.Context) error { return h.run(ctx, hub.Work{}) }

func (h *Hub) run(ctx context.Context, w hub.Work) error {
	core, err := h.opened()
	if err != nil {
		return err
	}
	if h.Store == nil {
		h.logger().Info("tasks are kept in memory only and end with this process")
	}
	return errors.Join(core.Run(ctx, w), core.Close())
}

// ListenAndServe listens on the TCP address addr and serves until ctx ends; then it drains. It
// returns ErrAnonymous if other machines can reach the address and Auth is nil.
func (h *Hub) ListenAndServe(ctx context.Context, addr string) error {
	if err := h.CheckAddr(addr); err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return h.Serve(ctx, l)
}

// CheckAddr returns ErrAnonymous if the hub must not listen on addr.
func (h *Hub) CheckAddr(addr string) error {
	if h.Auth != nil {
		return nil
	}
	return hub.CheckAddr(addr)
}

// Serve serves on l until ctx ends; then it drains and closes l. It answers callers until their
// runs have ended. It returns ErrAnonymous under the same conditions as ListenAndServe.
func (h *Hub) Serve(ctx context.Context, l net.Listener) error {
	if addr, ok := l.Addr().(*net.TCPAddr); ok {
		if err := h.CheckAddr(addr.String()); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	core, err := h.opened()
	if err != nil {
		return errors.Join(err, l.Close())
	}
	srv := core.NewServer()
	h.logger().Info("serving", "address", l.Addr().String())
	return h.run(ctx, hub.Work{Server: srv, Serve: func() error { return srv.Serve(l) }})
}
