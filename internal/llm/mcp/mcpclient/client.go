package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/wake"
)

// Client connects to one MCP server and keeps it running. Its fields must not change once it
// runs.
type Client struct {
	// Name is the name of the server: letters, digits, "_" and "-". It is required.
	Name string
	// Start starts the server if it is a program. If nil, the server is at URL.
	Start func() (Program, error)
	// URL is the endpoint of a server reached over HTTP. Header is sent with each request. HTTP
	// sends the requests; if nil, http.DefaultTransport is used.
	URL    string
	Header http.Header
	HTTP   *http.Client
	// Lazy delays the start of the server until its tools are requested.
	Lazy bool
	// Choice selects tools by the names that the server gives them.
	Choice llm.Filter
	// Version is the client's own version, which it sends to the server.
	Version string
	// Logger receives records for operators. If nil, nothing is logged.
	Logger *slog.Logger
	// Limits bound the server's use of resources.
	Limits Limits
	// Memory counts large messages of the server. If nil, they are not counted.
	Memory *membudget.Budget
	// Guard labels and screens the texts of tools. The zero Guard adds warnings.
	Guard guard.Guard

	once                   sync.Once
	wanted                 wake.Signal    // sent when the tools are requested
	broken                 chan error     // errors of the connection that calls have found
	changed, statusChanged wake.Broadcast // of the tools, and of the status

	mu      sync.Mutex // guards the fields below; never held while calling out
	status  Status
	session *mcp.ClientSession
	tools   []offer
	shown   map[guard.Policy][]llm.Tool // the tools as models read them, by the policy of a guard
	known   []Described                 // for people, in the order of tools
	// settled is closed when the first attempt has succeeded or failed.
	settled   chan struct{}
	listeners map[string]func(llm.Progress)
	calls     int
}

// Program is a started server. It exchanges messages over its pipes, one per line.
type Program interface {
	io.ReadWriteCloser
	// Output returns the end of its other output, for operators.
	Output() string
	// Ended describes its exit, such as "exit status 2"; empty while it runs.
	Ended() string
}

// Limits bound the resources that a server may use. Zero fields mean the named default.
type Limits struct {
	// Message is the largest message of the server in bytes. The default is 16 MiB.
	Message int
	// Tools is the largest number of tools; further ones are dropped. The default is 200.
	Tools int
	// Text and Schema are the largest sizes in bytes of a tool's description and schema. Longer
	// descriptions are cut, tools with a larger schema dropped. The defaults are 16 KiB and 128
	// KiB.
	Text, Schema int
	// Rate is the largest number of unsolicited messages per second. A burst may have ten times
	// as many. The default is 200.
	Rate int
	// Garbage is the largest number of invalid lines from a program. The default is 100.
	Garbage int
	// Calls is the largest number of concurrent calls. The default is 16.
	Calls int
	// Handshake is the time in which the server must become ready. The default is 30 s.
	Handshake time.Duration
	// Call is the timeout of a call. The default is 2 min.
	Call time.Duration
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Message:   cmp.Or(l.Message, 16<<20),
		Tools:     cmp.Or(l.Tools, 200),
		Text:      cmp.Or(l.Text, 16<<10),
		Schema:    cmp.Or(l.Schema, 128<<10),
		Rate:      cmp.Or(l.Rate, 200),
		Garbage:   cmp.Or(l.Garbage, 100),
		Calls:     cmp.Or(l.Calls, 16),
		Handshake: cmp.Or(l.Handshake, 30*time.Second),
		Call:      cmp.Or(l.Call, 2*time.Minute),
	}
}

// States of a server.
const (
	// Idle: the server was not requested yet.
	Idle = "idle"
	// Starting: the server is not ready yet.
	Starting = "starting"
	// Ready: the tools of the server can be called.
	Ready = "ready"
	// Down: the server is restarted after a pause.
	Down = "down"
	// Stopped: the server was stopped.
	Stopped = "stopped"
)

// Status describes the state of a server.
type Status struct {
	Name  string    `json:"name"`
	State string    `json:"state"`
	Since time.Time `json:"since"`
	// Reason is the reason why the server is down, or was down last.
	Reason string `json:"reason,omitempty"`
	// Server is the name and version that the server has sent.
	Server string `json:"server,omitempty"`
	// Tools is the number of tools. LeftOut is the number of tools that were dropped because of
	// the limits.
	Tools   int `json:"tools"`
	LeftOut int `json:"leftOut,omitempty"`
	// Starts is the number of times that the server became ready.
	Starts int `json:"starts"`
}

// Pauses before a restart.
const (
	firstPause = time.Second
	lastPause  = 5 * time.Minute
	// steady is the uptime after which the pauses start again from the first one.
	steady = time.Minute
)

func (c *Client) init() {
	c.once.Do(func() {
		c.Limits = c.Limits.withDefaults()
		if c.Logger == nil {
			c.Logger = slog.New(slog.DiscardHandler)
		}
		c.wanted, c.broken = wake.New(), make(chan error, 1)
		c.settled = make(chan struct{})
		c.listeners = make(map[string]func(llm.Progress))
		c.status = Status{Name: c.Name, State: Idle, Since: time.Now()}
	})
}

// Run keeps the server running until ctx ends, and then stops it.
func (c *Client) Run(ctx context.Context) error {
	c.init()
	defer c.set(Stopped, nil)
	if c.Lazy {
		select {
		case <-c.wanted:
		case <-ctx.Done():
			return nil
		}
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		c.set(Starting, nil)
		began := time.Now()
		err := c.connectOnce(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if c.wasReady() && time.Since(began) > steady {
			pause = firstPause
		}
		c.set(Down, err)
		c.Logger.Warn("an MCP server is down", "server", c.Name, "reason", err, "again", pause)
		if backoff.Sleep(ctx, pause) != nil {
			return nil
		}
	}
}

// wasReady reports whether the last attempt became ready.
func (c *Client) wasReady() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status.State == Ready
}

func (c *Client) set(state string, reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.State, c.status.Since = state, time.Now()
	switch {
	case reason != nil:
		c.status.Reason = reason.Error()
	case state == Ready:
		c.status.Reason = ""
		c.status.Starts++
	}
	c.statusChanged.Send()
	if state != Starting {
		select {
		case <-c.settled:
		default:
			close(c.settled)
		}
	}
}

// Status returns the current status of the server.
func (c *Client) Status() Status {
	c.init()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// StatusChanged returns a channel that is closed at the next change of the state.
func (c *Client) StatusChanged() <-chan struct{} { return c.statusChanged.Next() }

// firstWait is the time that callers of Tools wait for a starting server.
const firstWait = 10 * time.Second

// Tools implements llm.Source. It returns the last known tools of the server, under their names
// in the set. It waits up to firstWait for a server that was never ready.
func (c *Client) Tools(ctx context.Context) ([]llm.Tool, error) { return c.toolsFor(ctx, c.Guard) }

// toolsFor returns the tools with the labels of a guard.
func (c *Client) toolsFor(ctx context.Context, g guard.Guard) ([]llm.Tool, error) {
	c.init()
	c.wanted.Send()
	timer := time.NewTimer(firstWait)
	defer timer.Stop()
	select {
	case <-c.settled:
	case <-timer.C:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.labelled(g), nil
}

// Known returns the last known tools of the server without starting it, for a search index.
func (c *Client) Known() []Described {
	c.init()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known
}

// Changed implements llm.Source.
func (c *Client) Changed() <-chan struct{} { return c.changed.Next() }

var _ llm.Source = (*Client)(nil)

// errUnready is the error of calls while the server is not ready.
var errUnready = errors.New("is not there")

// ready returns the connection, or the reason why there is none.
func (c *Client) ready() (*mcp.ClientSession, error) {
	c.init()
	c.wanted.Send()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		reason := c.status.State
		if reason == Ready {
			reason = Down // it has just ended
		}
		if c.status.Reason != "" {
			reason += ": " + c.status.Reason
		}
		return nil, fmt.Errorf("%w (%s)", errUnready, reason)
	}
	return c.session, nil
}
