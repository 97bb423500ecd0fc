package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/llm/mcp/stdio"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
)

// The versions of MCP that a server is asked for: the first one that has what is needed
// here, which all servers know, and the last one for those who know no other.
const (
	version       = "2025-11-25"
	versionModern = "2026-07-28"
)

// errEnded: the server has closed the connection.
var errEnded = errors.New("the server has ended")

// errSlow: the server does not answer the first message.
var errSlow = errors.New("the server was not ready")

// errBroke: a call has found that there is no connection any more.
var errBroke = errors.New("a call broke off")

// live connects to the server and keeps its tools, until the connection ends or ctx does.
// It returns why.
func (c *Client) live(ctx context.Context) error {
	err := c.liveWith(ctx, version)
	var refused *jsonrpc.Error
	if errors.As(err, &refused) && refused.Code == jsonrpc.CodeMethodNotFound {
		return c.liveWith(ctx, versionModern)
	}
	return err
}

func (c *Client) liveWith(ctx context.Context, version string) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	relist := make(chan struct{}, 1)
	client := mcp.NewClient(&mcp.Implementation{Name: "parley", Title: "Parley", Version: c.Version}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case relist <- struct{}{}:
			default: // it will be done anyway
			}
		},
		ProgressNotificationHandler: c.progress,
	})
	client.AddReceivingMiddleware(c.guard(cancel))
	transport, end, err := c.transport(&wg, cancel)
	if err != nil {
		return err
	}
	defer func() { err = end().explain(err) }()
	session, err := c.connect(ctx, client, transport, version)
	if err != nil {
		return err
	}
	defer func() {
		c.use(nil)
		cancel(nil)
		// Calls have ended, or end with the transport: nobody waits for the server.
		end()
		_ = session.Close()
	}()
	wg.Go(func() {
		err := session.Wait()
		if err == nil || errors.Is(err, io.EOF) {
			err = errEnded
		}
		cancel(err)
	})
	return c.follow(ctx, session, relist)
}

// connect shakes hands.
func (c *Client) connect(ctx context.Context, client *mcp.Client, t mcp.Transport, version string) (*mcp.ClientSession, error) {
	slow := fmt.Errorf("%w within %v", errSlow, c.Limits.Handshake)
	shake, stop := context.WithTimeoutCause(ctx, c.Limits.Handshake, slow)
	defer stop()
	session, err := client.Connect(shake, t, &mcp.ClientSessionOptions{ProtocolVersion: version})
	switch {
	case err == nil:
		return session, nil
	case shake.Err() != nil:
		return nil, context.Cause(shake)
	}
	return nil, fmt.Errorf("connect: %w", err)
}

// follow lists the tools now and whenever they change, until ctx ends.
func (c *Client) follow(ctx context.Context, session *mcp.ClientSession, relist <-chan struct{}) error {
	if err := c.list(ctx, session); err != nil {
		return err
	}
	c.drain()
	c.use(session)
	c.set(Ready, nil)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-c.broken:
			return err
		case <-relist:
			if err := c.list(ctx, session); err != nil {
				return err
			}
		}
	}
}

// drain forgets what was found out about an earlier connection.
func (c *Client) drain() {
	select {
	case <-c.broken:
	default:
	}
}

// use makes session the one of calls.
func (c *Client) use(session *mcp.ClientSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = session
}

// ending is what is known of a program that has ended; nil if there was none.
type ending struct {
	// how it has ended, and said the end of what it has said beside messages.
	how, said string
	// garbage is how many lines it has written that are no messages.
	garbage int
}

// maxSaid is how much of what a program has said is part of a reason, in bytes.
const maxSaid = 400

// explain adds to the error of a connection what the end of its program tells.
func (e *ending) explain(err error) error {
	switch {
	case e == nil:
		return err
	case errors.Is(err, errSlow) && e.garbage > 0:
		return fmt.Errorf("%w; it has written %d lines that are no messages", err, e.garbage)
	case e.how == "" || !broken(err):
		return err
	case e.said == "":
		return fmt.Errorf("%w: %s", errEnded, e.how)
	}
	said := strings.ToValidUTF8(e.said[max(0, len(e.said)-maxSaid):], "")
	return fmt.Errorf("%w: %s: %s", errEnded, e.how, said)
}

// broken reports whether err may come of it that the program is gone: of an end of its
// pipes, also before it was ready.
func broken(err error) bool {
	for _, gone := range []error{errEnded, errBroke, io.EOF, io.ErrClosedPipe, syscall.EPIPE} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}

// transport returns the way to the server, and what ends it and says how it has ended.
func (c *Client) transport(wg *sync.WaitGroup, cancel context.CancelCauseFunc) (mcp.Transport, func() *ending, error) {
	if c.Start == nil {
		return c.web(), func() *ending { return nil }, nil
	}
	program, err := c.Start()
	if err != nil {
		return nil, nil, err
	}
	var garbage atomic.Int64
	pipe := stdio.NewPipe(program, program, stdio.Options{Limit: c.Limits.Message, Bad: func(f *stdio.Fault) error {
		if n := garbage.Add(1); !f.Long && n <= int64(c.Limits.Garbage) {
			c.Logger.Debug("an MCP server says something else than a message", "server", c.Name, "problem", f.Err.Message)
			return nil
		}
		err := fmt.Errorf("it was cut off: %s", f.Err.Message)
		cancel(err)
		return err
	}})
	wg.Go(pipe.Run)
	return pipe, sync.OnceValue(func() *ending {
		_ = pipe.Close() // ends the program
		e := &ending{how: program.Ended(), said: strings.TrimSpace(program.Said()), garbage: int(garbage.Load())}
		if e.said != "" {
			c.Logger.Info("an MCP server has said", "server", c.Name, "text", e.said)
		}
		return e
	}), nil
}

// web is the way to a server on the web.
func (c *Client) web() mcp.Transport {
	client := &http.Client{}
	if c.HTTP != nil {
		*client = *c.HTTP
	}
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = &bounded{client.Transport, c.Header, int64(c.Limits.Message)}
	return &mcp.StreamableClientTransport{Endpoint: c.URL, HTTPClient: client, MaxRetries: 2, MaxEventSize: c.Limits.Message}
}

// bounded sends headers along, and lets no answer that is no stream be larger than limit.
type bounded struct {
	next   http.RoundTripper
	header http.Header
	limit  int64
}

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(b.header) > 0 {
		r = r.Clone(r.Context())
		for name, values := range b.header {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	resp, err := b.next.RoundTrip(r)
	if resp = httpcall.Veil(r, resp); err != nil || resp.Header.Get("Content-Type") == "text/event-stream" {
		return resp, err
	}
	resp.Body = &short{resp.Body, b.limit}
	return resp, nil
}

// short is a body that is an error when it is too large.
type short struct {
	io.ReadCloser

	left int64
}

// Read implements io.Reader.
func (s *short) Read(b []byte) (int, error) {
	n, err := s.ReadCloser.Read(b)
	if s.left -= int64(n); s.left < 0 {
		return 0, errors.New("the answer is too large")
	}
	return n, err
}

// guard cuts off a server that sends too much of what nobody has asked for.
func (c *Client) guard(cancel context.CancelCauseFunc) mcp.Middleware {
	flood := &flood{rate: float64(c.Limits.Rate), room: 10 * float64(c.Limits.Rate)}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if !flood.take(time.Now()) {
				cancel(fmt.Errorf("it was cut off: it sends more than %d messages a second, the last one %s", c.Limits.Rate, method))
				return nil, errors.New("too many messages")
			}
			return next(ctx, method, req)
		}
	}
}

// flood counts what comes: rate a second, and room at once.
type flood struct {
	rate, room float64

	mu   sync.Mutex // guards the fields below
	used float64
	at   time.Time
}

// take reports whether there is room for one more.
func (f *flood) take(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used = max(0, f.used-now.Sub(f.at).Seconds()*f.rate)
	f.at = now
	f.used++
	return f.used <= f.room
}
