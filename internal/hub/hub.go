package hub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/events"
	"github.com/parley-a2a/parley/internal/front/conns"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/front/inside"
	"github.com/parley-a2a/parley/internal/front/surface"
	"github.com/parley-a2a/parley/internal/inbox/question"
	"github.com/parley-a2a/parley/internal/registry"
	"github.com/parley-a2a/parley/internal/telemetry/samples"
	"github.com/parley-a2a/parley/internal/webhooks"
)

// ErrAnonymous is returned for an address that other machines can reach, if callers are not
// authenticated.
var ErrAnonymous = errors.New("anonymous callers are only allowed on loopback addresses")

// CheckAddr returns ErrAnonymous for an address that is not on loopback.
func CheckAddr(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("listen on %s: %w", addr, ErrAnonymous)
}

const (
	// shutdownTimeout is the time that answers have to be sent after the last run.
	shutdownTimeout = 5 * time.Second
	// drainLeast is the least time that runs have to end.
	drainLeast = 10 * time.Second
)

// Front configures the HTTP front. Mount fills in Engine, Auth, Surfaces, Limits, SpoolDir,
// PublicURL, AllowedHosts, Callbacks, MCP and Logger.
type Front = httpfront.Config

// Readers selects the callers that may read /metrics.
type Readers = httpfront.Readers

// Hub is an engine with its front, webhooks and services.
type Hub struct {
	parts      Parts
	settings   Settings
	engine     *engine.Engine
	pusher     *webhooks.Dispatcher // nil without push notifications
	hookReview hookReview           // of Refresh
	front      *httpfront.Front     // nil before Mount
	remotes    remotes

	own       ownAgents
	directory *directory.Directory // nil without a Listing
	opened    bool                 // whether directory is open
	events    *events.Recorder
	samples   samples.Ring
	answered  chan answer // news of tasks about their agents, for directory
}

// New creates the engine and the dispatcher of webhooks.
func New(p Parts, s Settings) (*Hub, error) {
	if p.Logger == nil {
		p.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Hub{parts: p, settings: s}
	if !s.Push.Off { // before the hub sets fields of the parts, which another one may get after an error
		if err := h.openPush(); err != nil {
			return nil, err
		}
	}
	h.openEvents()
	c := engineConfig(&h.parts, &s)
	c.Store = h.events.Watched(p.Store)
	if h.pusher != nil {
		c.Push = h.pusher
	}
	if p.Directory != nil {
		h.answered = make(chan answer, 64)
	}
	c.Interest.Ends = true
	h.samples.Read, h.events.Appended = h.readSample, h.samples.Stored
	c.Observer = h.observers()
	h.engine = engine.New(c)
	if p.Directory != nil {
		h.list(p.Directory)
	}
	h.watchLost()
	if p.Bus != nil && p.Bus.Tasks == nil {
		p.Bus.Tasks = p.Store
	}
	if p.Bus != nil && p.Bus.Runs == nil {
		p.Bus.Runs = h.engine
	}
	if p.Inbox != nil && p.Inbox.Deliver == nil {
		p.Inbox.Deliver = question.Deliver(h.engine)
	}
	return h, nil
}

// openPush creates the dispatcher of webhooks. A key file in the push options takes precedence
// over the box.
func (h *Hub) openPush() (err error) {
	c := webhooks.Config{
		Options: h.settings.Push, Store: h.parts.Store, Version: h.settings.Version, Logger: h.parts.Logger,
		Attempted: h.attempted,
	}
	if h.parts.Peers != nil {
		c.Holds = h.parts.Peers.Holds
	}
	if ring, ok := h.parts.Auth.(*auth.Keyring); ok {
		c.Valid = ring.Valid
	}
	if h.parts.Box != nil && c.KeyFile == "" {
		c.Sealer = h.parts.Box
	}
	h.pusher, err = webhooks.New(c)
	return err
}

// Engine returns the engine, for agents and bindings.
func (h *Hub) Engine() *engine.Engine { return h.engine }

// Suspend ends all runs and deliveries, because other hubs on the store may begin with them.
func (h *Hub) Suspend() {
	h.engine.Suspend()
	if h.pusher != nil {
		h.pusher.Suspend()
	}
}

// Yield ends the deliveries of webhooks that are no longer this hub's.
func (h *Hub) Yield(ctx context.Context) error {
	if h.pusher == nil {
		return nil
	}
	return h.pusher.Yield(ctx)
}

// Pusher returns the dispatcher of webhooks, or nil without push notifications.
func (h *Hub) Pusher() *webhooks.Dispatcher { return h.pusher }

// Mount creates the HTTP front, with the surfaces of the parts.
func (h *Hub) Mount(f Front) {
	f.Engine, f.Auth, f.Logger = h.engine, h.parts.Auth, h.parts.Logger
	for _, open := range registry.Added[surface.New]() {
		f.Surfaces = append(f.Surfaces, open(h.engine))
	}
	f.Limits, f.PublicURL, f.Callbacks = h.settings.Limits, h.settings.PublicURL, h.callbacks()
	f.AllowedHosts, f.SpoolDir = h.settings.AllowedHosts, h.settings.SpoolDir
	if h.parts.MCP != nil {
		f.MCP = h.parts.MCP.Handler(h.Inside())
	}
	h.front = httpfront.New(f)
}

// Handler returns the front for callers. Call Mount first.
func (h *Hub) Handler() http.Handler { return h.front }

// Inside returns the front for requests from inside the process, which begin after Mount. The
// caller of such a request is the principal in its context.
func (h *Hub) Inside() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.front.Inside().ServeHTTP(w, r) })
}

// Calls returns the binding by which models of the hub call its agents. The caller of a call is
// the principal in its context.
func (h *Hub) Calls() *inside.Binding {
	return &inside.Binding{Engine: h.engine, Logger: h.parts.Logger}
}

// NewServer returns an HTTP server for the Handler.
func (h *Hub) NewServer() *http.Server { return httpfront.NewServer(h.front) }

// StopTime returns the maximum time that the hub needs to stop.
func (h *Hub) StopTime() time.Duration {
	return max(h.engine.Limits().DrainTimeout, drainLeast) + shutdownTimeout
}

// A Service runs beside the tasks of a hub.
type Service struct {
	// Name names the service in log records.
	Name string
	// Run works until ctx ends. An error stops the hub.
	Run func(ctx context.Context) error
	// Late lets Run continue until the last task has ended.
	Late bool
}

// Work is the work of Run beside the tasks. The zero Work is none.
type Work struct {
	Services []Service
	// Server is shut down after the last task has ended. If nil, no server is shut down.
	Server *http.Server
	// Serve serves with the Server until its shutdown.
	Serve func() error
	// Connections counts the connections of the Server and others; nil if they are not counted.
	Connections *conns.Limit
	// Ready is called when the tasks of an earlier process have been recovered. It may be nil.
	Ready func()
}

// Run recovers the tasks of an earlier process and runs tasks until ctx ends; then it drains
// and returns.
func (h *Hub) Run(ctx context.Context, w Work) error {
	// A hub that is stopped at once still starts and stops in order.
	if err := h.OpenDirectory(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	defer h.measure(w.Connections)()
	group, ctx := errgroup.WithContext(ctx)
	late, ended := context.WithCancel(context.WithoutCancel(ctx))
	if w.Server != nil {
		group.Go(func() error {
			if err := w.Serve(); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve HTTP: %w", err)
			}
			return nil
		})
	}
	group.Go(func() error {
		defer ended()
		// Callers get answers until the last run has ended.
		return h.pusher.Around(ctx, func(ctx context.Context) error {
			err := h.parts.Recorder.Around(ctx, h.parts.Turns, h.engine.Run)
			return errors.Join(err, h.shutdown(ctx, &w))
		})
	})
	for _, s := range slices.Concat(h.services(w.Ready), w.Services) {
		until := ctx
		if s.Late {
			until = late
		}
		group.Go(func() error {
			err := s.Run(until)
			h.parts.Logger.Debug("service ended", "service", s.Name, "error", err)
			return err
		})
	}
	return group.Wait()
}

// shutdown waits until answers are sent, and closes the connections.
func (h *Hub) shutdown(ctx context.Context, w *Work) error {
	if h.parts.MCP != nil {
		h.parts.MCP.Close()
	}
	h.events.EndReaders()
	if w.Server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := w.Server.Shutdown(ctx); err != nil {
		h.parts.Logger.Warn("connections were cut", "error", err)
		return w.Server.Close()
	}
	return nil
}

// measure exports the metrics of the hub until stop is called.
func (h *Hub) measure(connections *conns.Limit) (stop func()) {
	stop, err := watchHub(measured{
		engine: h.engine, pusher: h.pusher, store: h.parts.Store, connections: connections, bus: h.parts.Bus, letters: h.parts.Letters,
		version: h.settings.Version, commit: h.settings.Commit,
	})
	if err != nil {
		h.parts.Logger.Warn("the hub is not measured", "error", err)
		return func() {}
	}
	return stop
}
