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
	"github.com/parley-a2a/parley/llm"
)

// Client is an MCP server with what keeps it running. Its fields must not be changed once
// it runs.
type Client struct {
	// Name is the name of the server: letters, digits, "_" and "-". It is required.
	Name string
	// Start starts the server if it is a program. If nil, it is at URL.
	Start func() (Program, error)
	// URL is the endpoint of a server on the web, Header what is sent with each request,
	// and HTTP what sends them; if nil, http.DefaultTransport does.
	URL    string
	Header http.Header
	HTTP   *http.Client
	// Lazy starts the server when its tools are wanted, not before.
	Lazy bool
	// Choice says which tools count, by the names that the server gives them.
	Choice llm.Filter
	// Version is how the client introduces itself.
	Version string
	// Logger receives what an operator should know. If nil, nothing is logged.
	Logger *slog.Logger
	// Limits are described there.
	Limits Limits

	once   sync.Once
	wanted chan struct{} // has one element once the tools are wanted
	broken chan error    // what a call has found out about the connection

	mu      sync.Mutex // guards the fields below; never held while calling out
	status  Status
	session *mcp.ClientSession
	tools   []llm.Tool
	changed chan struct{}
	// turned is closed when the status is another one.
	turned chan struct{}
	// settled is closed when the first attempt has succeeded or failed.
	settled chan struct{}
	told    map[string]func(llm.Progress)
	calls   int
}

// Program is a server that was started: what it says and is told, a message a line.
type Program interface {
	io.ReadWriteCloser
	// Said is the end of what it has said beside that, for the operator.
	Said() string
	// Ended says how it has ended, such as "exit status 2"; empty while it runs.
	Ended() string
}

// Limits bound what a server may take. Zero fields have the default named.
type Limits struct {
	// Message is the largest message of the server in bytes: 16 MiB.
	Message int
	// Tools is how many tools count: 200. The rest is left out.
	Tools int
	// Text is the largest description of a tool, and Schema the largest schema, in bytes:
	// 16 KiB and 128 KiB. Descriptions are cut, tools with a larger schema left out.
	Text, Schema int
	// Rate is how many messages that nobody has asked for may come a second: 200, and as
	// many as in ten seconds at once.
	Rate int
	// Garbage is how many lines of a program may be no messages: 100.
	Garbage int
	// Calls is how many calls may be under way: 16.
	Calls int
	// Handshake is how long the server may take to be ready: 30 s.
	Handshake time.Duration
	// Call is how long a call may take: 2 min.
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

// The states of a server.
const (
	// Idle: it was not wanted yet.
	Idle = "idle"
	// Starting: it is not ready yet.
	Starting = "starting"
	// Ready: its tools can be called.
	Ready = "ready"
	// Down: it is begun anew after a pause.
	Down = "down"
	// Stopped: it was ended.
	Stopped = "stopped"
)

// Status says how a server is.
type Status struct {
	Name  string    `json:"name"`
	State string    `json:"state"`
	Since time.Time `json:"since"`
	// Reason is why it is down, or was last.
	Reason string `json:"reason,omitempty"`
	// Server is how it introduces itself.
	Server string `json:"server,omitempty"`
	// Tools is how many tools count, and LeftOut how many do not because of the limits.
	Tools   int `json:"tools"`
	LeftOut int `json:"leftOut,omitempty"`
	// Starts is how often it was ready.
	Starts int `json:"starts"`
}

// Pauses before a server is begun anew.
const (
	firstPause = time.Second
	lastPause  = 5 * time.Minute
	// steady is how long a server must have been ready for the pauses to begin anew.
	steady = time.Minute
)

func (c *Client) init() {
	c.once.Do(func() {
		c.Limits = c.Limits.withDefaults()
		if c.Logger == nil {
			c.Logger = slog.New(slog.DiscardHandler)
		}
		c.wanted, c.broken = make(chan struct{}, 1), make(chan error, 1)
		c.changed, c.settled, c.turned = make(chan struct{}), make(chan struct{}), make(chan struct{})
		c.told = make(map[string]func(llm.Progress))
		c.status = Status{Name: c.Name, State: Idle, Since: time.Now()}
	})
}

// Run keeps the server running until ctx ends, and ends it then.
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
		err := c.live(ctx)
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

// wasReady reports whether the last attempt has come so far.
func (c *Client) wasReady() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status.State == Ready
}

// set says how the server is.
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
	close(c.turned)
	c.turned = make(chan struct{})
	if state != Starting {
		select {
		case <-c.settled:
		default:
			close(c.settled)
		}
	}
}

// Status returns how the server is.
func (c *Client) Status() Status {
	c.init()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// StatusChanged returns a channel that is closed when Status returns another state.
func (c *Client) StatusChanged() <-chan struct{} {
	c.init()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turned
}

// want starts a lazy server.
func (c *Client) want() {
	select {
	case c.wanted <- struct{}{}:
	default:
	}
}

// firstWait is how long whoever wants the tools waits for a server that starts.
const firstWait = 10 * time.Second

// Tools implements llm.Source: the tools that the server had last, under their names
// in the set. It waits for a server that was never ready, but not for long.
func (c *Client) Tools(ctx context.Context) ([]llm.Tool, error) {
	c.init()
	c.want()
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
	return c.tools, nil
}

// Known returns the tools that the server had last, and does not start it.
func (c *Client) Known() []llm.Tool {
	c.init()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tools
}

// Changed implements llm.Source.
func (c *Client) Changed() <-chan struct{} {
	c.init()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

var _ llm.Source = (*Client)(nil)

// errUnready is what calls get while the server is not there.
var errUnready = errors.New("is not there")

// ready returns the connection, or why there is none.
func (c *Client) ready() (*mcp.ClientSession, error) {
	c.init()
	c.want()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		reason := c.status.State
		if reason == Ready {
			reason = Down // it has ended just now
		}
		if c.status.Reason != "" {
			reason += ": " + c.status.Reason
		}
		return nil, fmt.Errorf("%w (%s)", errUnready, reason)
	}
	return c.session, nil
}
