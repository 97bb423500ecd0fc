package mcpserver

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/llm"
)

// Server says what one caller gets. Its fields must not be changed once it serves.
type Server struct {
	// Name and Version are how it introduces itself: "parley", and no version.
	Name, Version string
	// Instructions tell the model of the host what this is about. They may be empty.
	Instructions string
	// Tools are what can be called. It is required. If it is a Runner, it runs as long as
	// the server does.
	Tools llm.Source
	// Choice says which of them are offered.
	Choice llm.Filter
	// Library has what can be read. If nil, only large results can be.
	Library Library
	// Logger receives what an operator should know. If nil, nothing is logged.
	Logger *slog.Logger
	// Limits are described there.
	Limits Limits
}

// Runner is a source that must run for its changes to be told.
type Runner interface {
	// Run runs until ctx ends.
	Run(ctx context.Context) error
}

// Limits bound what a caller may take. Zero fields have the default named.
type Limits struct {
	// Message is the largest message of a caller in bytes: 4 MiB.
	Message int
	// Arguments are the largest arguments of a call in bytes: 1 MiB.
	Arguments int
	// Result is how much of a result is in the answer to a call, in bytes: 512 KiB. The
	// parts that do not fit become links to resources.
	Result int
	// Kept is how much of such results is kept, in bytes: 32 MiB. The oldest go first.
	Kept int
	// Calls is how many calls there may be at one time: 32.
	Calls int
	// Tools is how many tools are offered: 1000. The rest is left out.
	Tools int
	// Watches is how many resources may be subscribed to: 64.
	Watches int
	// Beat is the silence after which a call that is under way says so: 15 s.
	Beat time.Duration
	// Patience is how long a call waits for the caller to come back with an answer,
	// where the version of the protocol makes it a request of its own: 10 min.
	Patience time.Duration
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Message:   cmp.Or(l.Message, 4<<20),
		Arguments: cmp.Or(l.Arguments, 1<<20),
		Result:    cmp.Or(l.Result, 512<<10),
		Kept:      cmp.Or(l.Kept, 32<<20),
		Calls:     cmp.Or(l.Calls, 32),
		Tools:     cmp.Or(l.Tools, 1000),
		Watches:   cmp.Or(l.Watches, 64),
		Beat:      cmp.Or(l.Beat, 15*time.Second),
		Patience:  cmp.Or(l.Patience, 10*time.Minute),
	}
}

// desk is a Server at work. Its goroutines have ended when close returns.
type desk struct {
	Server

	mcp *mcp.Server
	// slots has a place for each call under way.
	slots chan struct{}
	kept  kept
	watch watches

	// base ends with the desk.
	base   context.Context //nolint:containedctx // the life of the desk
	cancel context.CancelFunc
	wg     sync.WaitGroup

	// replacing is held while the SDK has some of the old tools and some of the new.
	replacing sync.RWMutex

	mu     sync.Mutex // guards the fields below; never held while calling out
	tools  map[string]*offer
	parked map[string]*parked
}

// private is the scope of all answers: what one caller sees is nobody else's business.
const private = "private"

// firstList is how long the first caller waits for the list of tools.
const firstList = 5 * time.Second

// open puts a Server to work. The tools are those of the moment, and followed until the
// desk is closed.
func (s *Server) open(ctx context.Context) *desk {
	d := &desk{Server: *s, tools: make(map[string]*offer), parked: make(map[string]*parked)}
	d.Name = cmp.Or(d.Name, "parley")
	d.Limits = d.Limits.withDefaults()
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	d.slots = make(chan struct{}, d.Limits.Calls)
	d.kept.max = d.Limits.Kept
	d.base, d.cancel = context.WithCancel(context.WithoutCancel(ctx))
	d.watch = watches{desk: d, of: make(map[string]*watch)}
	d.mcp = mcp.NewServer(&mcp.Implementation{Name: d.Name, Title: "Parley", Version: d.Version}, &mcp.ServerOptions{
		Instructions: d.Instructions,
		Capabilities: &mcp.ServerCapabilities{
			Tools:     &mcp.ToolCapabilities{ListChanged: true},
			Resources: &mcp.ResourceCapabilities{Subscribe: d.watcher() != nil},
		},
		SubscribeHandler:   d.watch.subscribe,
		UnsubscribeHandler: d.watch.unsubscribe,
		PageSize:           d.Limits.Tools,
		SetCacheable:       func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = private },
	})
	d.serveResources()
	soon, cancel := context.WithTimeout(d.base, firstList)
	defer cancel()
	changed, err := d.list(soon)
	d.wg.Go(func() { d.follow(d.base, changed, err) })
	if r, ok := d.Tools.(Runner); ok {
		d.wg.Go(func() {
			if err := r.Run(d.base); err != nil && d.base.Err() == nil {
				d.Logger.Error("changes of tools are not seen any more", "error", err)
			}
		})
	}
	return d
}

// close ends all calls and waits for everything.
func (d *desk) close() {
	d.cancel()
	d.mu.Lock()
	for _, p := range d.parked {
		p.timer.Stop()
	}
	d.mu.Unlock()
	for ss := range d.mcp.Sessions() {
		d.wg.Go(func() { _ = ss.Close() })
	}
	d.wg.Wait()
}

// busy reports whether calls are under way.
func (d *desk) busy() bool { return len(d.slots) > 0 }
