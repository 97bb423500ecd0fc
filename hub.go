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

	"github.com/parley-a2a/parley/agent/queue"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/auth/audit"
	"github.com/parley-a2a/parley/auth/policy"
	"github.com/parley-a2a/parley/auth/trust"
	"github.com/parley-a2a/parley/inbox"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/hub"
	"github.com/parley-a2a/parley/internal/secret/seal"
	"github.com/parley-a2a/parley/push"
	"github.com/parley-a2a/parley/store/memstore"
	"github.com/parley-a2a/parley/task"
)

// ErrAnonymous is returned when a hub without an authenticator is asked to listen
// on an address that others can reach.
var ErrAnonymous = hub.ErrAnonymous

// Hub receives A2A requests and runs them on agents. The zero value keeps
// everything in memory and is ready to use.
type Hub struct {
	// Store keeps the tasks. If nil, they live in memory and die with the process.
	Store task.Store
	// Auth finds the principal of each call. If nil, every caller is the anonymous
	// "local", and the hub listens on loopback addresses only.
	Auth auth.Authenticator
	// Policy says which caller may do what with which agent. If nil, every caller may do
	// everything with his own tasks.
	Policy *policy.Policy
	// AllowAnonymous lets a hub without Auth listen on any address.
	AllowAnonymous bool
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger
	// PublicURL is the address under which callers reach the hub, for agent cards.
	// If empty, cards name the host of the request.
	PublicURL string
	// TrustForwarded takes the host for agent cards from X-Forwarded-Proto and
	// X-Forwarded-Host. Set it behind a proxy that sets them.
	TrustForwarded bool
	// UnionCard adds the v0.3 keys to /.well-known/agent-card.json;
	// /.well-known/agent.json always has them.
	UnionCard bool
	// GRPCAddr is the address of a gRPC listener to name in agent cards,
	// "host:port". If empty, cards name none.
	GRPCAddr string
	// Limits bound time and space. The zero Limits are sensible.
	Limits Limits
	// Extended are the extended cards. If zero, there are none.
	Extended ExtendedCards
	// Idempotency says which messages are taken at most once. The zero value takes every
	// message for a new one.
	Idempotency Idempotency
	// Push says how webhooks are told. The zero Options tell those on public
	// addresses. Options that cannot be read panic when the hub is first used. A Store
	// that cannot keep webhooks makes the hub one without push notifications.
	Push push.Options
	// KeyFile is the file with the master key, which is made if there is none. With it, page
	// tokens are good after a restart, and so are the secrets of webhooks in the Store, unless
	// Push.KeyFile names another file. A key that cannot be read panics when the hub is first
	// used. If empty, page tokens end with the process.
	KeyFile string
	// Parts is the folder of large parts of messages and artifacts: their bytes are kept
	// there once, and callers get an address below PublicURL, which is required with it, to
	// read them. If nil, all parts stay in their tasks.
	Parts *Parts
	// Memory records what comes of tasks whose requests name a session. If nil, nothing is
	// recorded.
	Memory *Memory
	// Questions answers what agents ask their callers, in their place. A *question.Desk
	// does; let its Inbox be that of the hub. If nil, tasks wait for their callers.
	Questions engine.Questions
	// Onward says to others who callers are, for executors that call on (auth.Assert). A
	// *token.Asserter does; its keys have to be where others find them (token.KeySet). If
	// nil, auth.Assert is auth.ErrNoOnward.
	Onward auth.Onward

	// Bus gives tasks to agents at queues: those whose executor is a queue.Agent with this
	// Dispatcher. The hub runs it, and sets its Tasks if they are nil. If nil, the hub has no
	// place on a bus.
	Bus *queue.Dispatcher
	// Inbox is what waits for a person. The hub runs it, and gives the answers to the tasks
	// that have asked unless Inbox.Deliver is set. If nil, there is none.
	Inbox *inbox.Inbox
	// Trust is whom the hub trusts, for Questions and API. The hub runs it and counts the
	// messages of callers in it; load it before. If nil, nothing is counted.
	Trust *trust.Book
	// Audit is the log of what callers do to tasks and below /api/v1. What cannot be written
	// there is refused. Close it when the hub has run. If nil, nothing is written down.
	Audit *audit.Log
	// API serves /api/v1, the hub's own interface: agents, tasks, webhooks, and the parts
	// above as far as they are set. Administrators are callers with the role auth.RoleAdmin;
	// in a hub without Auth, callers on this machine. If false, nothing is served there.
	API bool

	mu     sync.Mutex // guards the fields below
	agents []engine.Agent
	core   *hub.Hub // nil until the hub is used
}

// Limits bound what callers and agents may use. A zero field means its default.
type Limits struct {
	// Body is the largest request in bytes; 10 MiB.
	Body int64
	// StreamsPerCaller is the number of streams that one caller may hold open;
	// 1,000.
	StreamsPerCaller int
	// MaxWait is the longest time that a blocking call waits; 300 s. Then it returns
	// the task as it is.
	MaxWait time.Duration
	// AgentSilence ends a run that yields nothing for so long; 15 min. Negative
	// means never.
	AgentSilence time.Duration
	// DrainTimeout is how long runs may go on after the hub was told to stop; 10 s.
	DrainTimeout time.Duration
	// Retention is how long a finished task is kept; 30 days.
	Retention time.Duration
	// IdleRetention is how long an interrupted task of an idle context is kept
	// open; 30 days.
	IdleRetention time.Duration
	// MaxRuns is the number of tasks that are executed at one time; 10,000.
	MaxRuns int
	// RequestsPerSecond is how many requests one caller may make per second, on
	// average; any number, because a hub of one person is not to be slowed down by its
	// own guard. All anonymous callers are one. A caller above the limit is told when
	// to come back: status 429 and Retry-After over HTTP, RESOURCE_EXHAUSTED over gRPC.
	RequestsPerSecond float64
	// Burst is how many of them may come at once; twice RequestsPerSecond.
	Burst int
	// BytesPerSecond is how many bytes of requests one caller may send per second, on
	// average; any number. A request may be larger: its caller's next one has to wait
	// until it is paid for.
	BytesPerSecond int64
	// TasksPerCaller is how many tasks of one caller may run or wait in line in this
	// process; any number. Those that wait for the caller do not count.
	TasksPerCaller int
	// Hops is how many agents may ask each other one after the other, through this hub
	// and others; 8.
	Hops int
	// Delegations is how many tasks may be begun on behalf of one; 1,000.
	Delegations int
	// DelegationTime is how long work may take that an agent has delegated to others,
	// unless its caller has less time; any time.
	DelegationTime time.Duration
	// FirstEvent is how long an agent may take to answer with a bare message; then the
	// caller gets a task; 1 s.
	FirstEvent time.Duration
	// CancelWait is how long an agent may take to confirm a cancellation; then the task is
	// canceled without it; 10 s.
	CancelWait time.Duration
	// MaxAway is the number of tasks at one time whose agents wait for work elsewhere
	// (agent.Traits.Away), which do not count towards MaxRuns; 50,000.
	MaxAway int
	// MaxQueued is the number of tasks that may wait in line; further messages are
	// refused; 100,000.
	MaxQueued int
	// MaxWaiting is the number of unread messages that one task may have; 100.
	MaxWaiting int
	// Streams is the number of streams that may be open in all; 20,000. Negative means
	// any number.
	Streams int
	// BodyTime is how long a request may take to arrive; 30 s.
	BodyTime time.Duration
	// WriteTime is how long the reader of an answer may take to accept a write; then it is
	// disconnected; 30 s.
	WriteTime time.Duration
	// KeepAlive is the silence after which a stream sends a comment; 15 s.
	KeepAlive time.Duration
}

// Idempotency says which messages are taken at most once: those with a key, which
// belongs to the caller and to the agent. A message that comes again gets the task of
// the first one, as it is now; one with other content under the same key is refused. A
// message with a key is always answered with a task.
type Idempotency struct {
	// Header takes the key from the header Idempotency-Key, over gRPC from the metadata
	// idempotency-key.
	Header bool
	// MessageID takes the id of a message that has no key for its key.
	MessageID bool
	// TTL is how long a key is remembered, at most as long as its task; 24 h.
	TTL time.Duration
}

// used returns the hub that is made of the fields at the first call.
func (h *Hub) used() *hub.Hub {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.core != nil {
		return h.core
	}
	store := cmp.Or[task.Store](h.Store, new(memstore.Store))
	core, err := hub.New(hub.Parts{
		Store: store, Auth: h.Auth, Box: h.box(), Policy: h.Policy, Recorder: h.Memory.recorder(store, h.Logger), Blobs: h.keeper(),
		Questions: h.Questions, Onward: h.Onward, Bus: h.Bus, Inbox: h.Inbox, Trust: h.Trust, Audit: h.Audit, Logger: h.Logger,
	}, hub.Settings{
		Limits:      hub.Limits(h.Limits),
		Idempotency: engine.Idempotency{Header: h.Idempotency.Header, MessageID: h.Idempotency.MessageID, TTL: h.Idempotency.TTL},
		Extended:    engine.ExtendedCards{Token: h.Extended.Token, Authenticated: h.Extended.Authenticated},
		Push:        h.Push, Version: Version,
	})
	if err != nil {
		panic("parley: " + err.Error())
	}
	h.core = core
	for _, a := range h.agents {
		h.register(a)
	}
	core.Mount(h.front())
	return core
}

// front says how the hub looks over HTTP; the caller holds h.mu.
func (h *Hub) front() hub.Front {
	f := hub.Front{
		AllowAnonymous: h.AllowAnonymous, PublicURL: h.PublicURL, TrustForwarded: h.TrustForwarded,
		GRPCAddr: h.GRPCAddr, UnionCard: h.UnionCard, Loopback: h.Auth == nil && !h.AllowAnonymous,
	}
	if h.API {
		api := h.core.API()
		if h.PublicURL != "" {
			api.Reach = h.core.Reach(h.PublicURL, h.GRPCAddr)
		}
		f.API = api
	}
	return f
}

// box opens the master key, or makes one; nil if there is none.
func (h *Hub) box() *seal.Box {
	if h.KeyFile == "" {
		return nil
	}
	box, err := seal.Load(h.KeyFile)
	if err != nil {
		panic("parley: " + err.Error())
	}
	return box
}

func (h *Hub) logger() *slog.Logger {
	if h.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return h.Logger
}

// Handle registers an agent. Its name in paths and tenants is card.Name in lower
// case with every run of other characters than letters and digits as one hyphen.
// The first agent that is registered is the default one. Interfaces and
// capabilities of the card are filled in by the hub. Handle panics if card or
// executor is nil, or if the name is empty or taken.
func (h *Hub) Handle(card *a2a.AgentCard, executor a2asrv.AgentExecutor) {
	if card == nil || executor == nil {
		panic("parley: Handle needs a card and an executor")
	}
	a := engine.Agent{Name: AgentName(card.Name), Card: card, Executor: executor}
	if a.Name == "" {
		panic("parley: Handle needs a card with a name")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.ContainsFunc(h.agents, func(b engine.Agent) bool { return b.Name == a.Name }) {
		panic(fmt.Sprintf("parley: two agents are called %q", a.Name))
	}
	h.agents = append(h.agents, a)
	if h.core != nil {
		h.register(a)
	}
}

// AgentName returns the name under which Handle registers an agent whose card says
// name.
func AgentName(name string) task.Agent { return task.AgentNamed(name) }

// Handler returns the hub as an http.Handler, to be mounted at the root of a mux,
// or at the paths that it serves: / (JSON-RPC), /a2a, /a2a/, /v1/a2a/,
// /.well-known/agent-card.json, /.well-known/agent.json, /v1/models,
// /v1/chat/completions, /ag-ui, /ag-ui/, /healthz and /readyz; with Parts /v1/parts/.
// Below another prefix, strip it and set PublicURL. Call Run beside it, and stop
// the server after Run has returned, so that callers get their answers.
func (h *Hub) Handler() http.Handler {
	return h.used().Handler()
}

// Engine gives bindings in other packages (grpcbind) what they need.
func (h *Hub) Engine() *engine.Engine {
	return h.used().Engine()
}

// Authenticator returns the authenticator in force: Auth, or one that takes
// callers for the anonymous "local".
func (h *Hub) Authenticator() auth.Authenticator {
	if h.Auth == nil {
		return auth.Anonymous(h.AllowAnonymous)
	}
	return h.Auth
}

// Run does the work of a hub whose Handler is served by somebody else: it recovers
// the tasks of an earlier process and runs tasks until ctx ends; then it drains and
// returns.
func (h *Hub) Run(ctx context.Context) error { return h.run(ctx, hub.Work{}) }

func (h *Hub) run(ctx context.Context, w hub.Work) error {
	core := h.used()
	if h.Store == nil {
		h.logger().Info("tasks are kept in memory only and end with this process")
	}
	return core.Run(ctx, w)
}

// ListenAndServe listens on the TCP address addr and serves until ctx ends; then
// it drains. It returns ErrAnonymous for an address that others can reach if
// nobody authenticates callers.
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

// CheckAddr returns ErrAnonymous if the hub may not listen on addr.
func (h *Hub) CheckAddr(addr string) error {
	if h.Auth != nil || h.AllowAnonymous {
		return nil
	}
	return hub.CheckAddr(addr)
}

// Serve serves on l until ctx ends; then it drains and closes l. Callers are
// answered while runs come to their end. Like ListenAndServe it returns
// ErrAnonymous for a TCP address that others can reach if nobody authenticates
// callers.
func (h *Hub) Serve(ctx context.Context, l net.Listener) error {
	if addr, ok := l.Addr().(*net.TCPAddr); ok {
		if err := h.CheckAddr(addr.String()); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	srv := h.used().NewServer()
	h.logger().Info("serving", "address", l.Addr().String())
	return h.run(ctx, hub.Work{Server: srv, Serve: func() error { return srv.Serve(l) }})
}
