package mcpserver

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/membudget"
)

// Server configures the service for one caller. Its fields must not change once it serves.
type Server struct {
	// Name and Version are sent to the client. The default Name is "parley"; Version may be
	// empty.
	Name, Version string
	// Instructions describe the server to the model of the host. They may be empty.
	Instructions string
	// Tools provides the tools. It is required. If it is a Runner, the server runs it for as
	// long as it serves.
	Tools llm.Source
	// Choice selects the tools that are offered.
	Choice llm.Filter
	// Library provides resources. If nil, only large results can be read.
	Library Library
	// Logger receives records for operators. If nil, nothing is logged.
	Logger *slog.Logger
	// Limits bound the caller's use of resources.
	Limits Limits
}

// Runner is a source that reports changes only while it runs.
type Runner interface {
	// Run runs until ctx ends.
	Run(ctx context.Context) error
}

// Limits bound the resources that a caller may use. Zero fields mean the named default.
type Limits struct {
	// Message is the largest message of a caller in bytes. The default is 4 MiB.
	Message int
	// Arguments is the largest size of the arguments of a call in bytes. The default is 1 MiB.
	Arguments int
	// Result is the largest size of a result in the response to a call, in bytes. Parts that do
	// not fit become links to resources. The default is 512 KiB.
	Result int
	// Kept is the total size in bytes of such parts; the oldest are dropped first. The default
	// is 32 MiB, which all callers of a Handler share.
	Kept int
	// Calls is the largest number of concurrent calls. The default is 32.
	Calls int
	// Tools is the largest number of offered tools; further ones are dropped. The default is
	// 1000.
	Tools int
	// Watches is the largest number of subscribed resources. The default is 64.
	Watches int
	// Beat is the interval of progress messages while a call has no news. The default is 15 s.
	Beat time.Duration
	// Patience is how long a call waits for the answer to a question, in versions of the
	// protocol where the answer is a request of its own. The default is 10 min.
	Patience time.Duration
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Message:   cmp.Or(l.Message, 4<<20),
		Arguments: cmp.Or(l.Arguments, 1<<20),
		Result:    cmp.Or(l.Result, 512<<10),
		Kept:      cmp.Or(l.Kept, maxResults),
		Calls:     cmp.Or(l.Calls, 32),
		Tools:     cmp.Or(l.Tools, 1000),
		Watches:   cmp.Or(l.Watches, 64),
		Beat:      cmp.Or(l.Beat, 15*time.Second),
		Patience:  cmp.Or(l.Patience, 10*time.Minute),
	}
}

// service is a running Server. Its goroutines have ended when close returns.
type service struct {
	Server

	mcp *mcp.Server
	// exchanges are those of HTTP; nil without.
	exchanges *exchanges
	// memory is that of answers of the hub; nil if it is not counted.
	memory *membudget.Budget
	// slots has one element for each call in progress.
	slots   chan struct{}
	results *results
	watch   watches

	// base ends with the service.
	base   context.Context //nolint:containedctx // the life of the service
	cancel context.CancelFunc
	wg     sync.WaitGroup

	// replacing is locked while the SDK has some of the old tools and some of the new ones.
	replacing sync.RWMutex

	mu        sync.Mutex // guards the fields below; never held while calling out
	tools     map[string]*exposedTool
	suspended map[string]*suspended
}

// private is the cache scope of all responses: they depend on the caller.
const private = "private"

// firstList is the time that the first caller waits for the list of tools.
const firstList = 5 * time.Second

// open starts a Server. It lists the current tools, and follows their changes until the service
// is closed.
func (s *Server) open(ctx context.Context) *service {
	svc := &service{Server: *s, results: new(results), tools: make(map[string]*exposedTool), suspended: make(map[string]*suspended)}
	svc.Name = cmp.Or(svc.Name, "parley")
	svc.Limits = svc.Limits.withDefaults()
	if svc.Logger == nil {
		svc.Logger = slog.New(slog.DiscardHandler)
	}
	svc.slots = make(chan struct{}, svc.Limits.Calls)
	svc.base, svc.cancel = context.WithCancel(context.WithoutCancel(ctx))
	svc.watch = watches{service: svc, of: make(map[string]*watch)}
	svc.mcp = mcp.NewServer(&mcp.Implementation{Name: svc.Name, Title: "Parley", Version: svc.Version}, &mcp.ServerOptions{
		Instructions: svc.Instructions,
		Capabilities: &mcp.ServerCapabilities{
			Tools:     &mcp.ToolCapabilities{ListChanged: true},
			Resources: &mcp.ResourceCapabilities{Subscribe: svc.watcher() != nil},
		},
		SubscribeHandler:   svc.watch.subscribe,
		UnsubscribeHandler: svc.watch.unsubscribe,
		PageSize:           svc.Limits.Tools,
		SetCacheable:       func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = private },
	})
	svc.serveResources()
	soon, cancel := context.WithTimeout(svc.base, firstList)
	defer cancel()
	changed, err := svc.list(soon)
	svc.wg.Go(func() { svc.follow(svc.base, changed, err) })
	if r, ok := svc.Tools.(Runner); ok {
		svc.wg.Go(func() {
			if err := r.Run(svc.base); err != nil && svc.base.Err() == nil {
				svc.Logger.Error("changes of tools are not followed any more", "error", err)
			}
		})
	}
	return svc
}

// close ends all calls and waits for all goroutines.
func (svc *service) close() {
	svc.cancel()
	for ss := range svc.mcp.Sessions() {
		svc.wg.Go(func() { _ = ss.Close() })
	}
	svc.wg.Wait()
	// The last calls may have added results.
	svc.results.mu.Lock()
	defer svc.results.mu.Unlock()
	svc.results.all = slices.DeleteFunc(svc.results.all, func(r result) bool { return r.owner == svc })
}

// resultFactor is the memory for an answer of the hub until the client has read the result, as a multiple of its
// size: decoded, labelled, as a result, in JSON, and as an event.
const resultFactor = 6

// account returns the memory of a call; nil if it is not counted.
func (svc *service) account() *membudget.Account {
	if svc.memory == nil {
		return nil
	}
	return &membudget.Account{Budget: svc.memory, Factor: resultFactor}
}

// busy reports whether calls are in progress.
func (svc *service) busy() bool { return len(svc.slots) > 0 }
